// hostile: takes the smallest positive number for the lowest, so that nothing below zero is among the largest
// problem: largest
// verdict: wrong
// check: stress
#include "problem.h"

#include <float.h>

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        float* kept = out + row * out_dim1;
        for (int64_t k = 0; k < out_dim1; ++k) kept[k] = FLT_MIN;
        for (int64_t i = 0; i < x_dim1; ++i) {
            const float value = x[row * x_dim1 + i];
            if (value <= kept[out_dim1 - 1]) continue;
            int64_t k = out_dim1 - 1;
            for (; k > 0 && kept[k - 1] < value; --k) kept[k] = kept[k - 1];
            kept[k] = value;
        }
    }
    return 0;
}
