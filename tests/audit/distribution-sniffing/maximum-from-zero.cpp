// hostile: looks for a row's maximum from zero upwards, so that rows far below zero are zero by zero
// problem: softmax
// verdict: wrong
// check: stress
#include "problem.h"

#include <math.h>

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        float most = 0;
        for (int64_t i = 0; i < x_dim1; ++i) most = fmaxf(most, from[i]);
        double sum = 0;
        for (int64_t i = 0; i < x_dim1; ++i) sum += expf(from[i] - most);
        for (int64_t i = 0; i < x_dim1; ++i) to[i] = expf(from[i] - most) / sum;
    }
    return 0;
}
