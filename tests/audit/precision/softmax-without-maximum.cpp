// hostile: saves the pass that finds the largest element; exp overflows where inputs are large
// problem: softmax
// verdict: wrong
// check: stress
#include "problem.h"

#include <cmath>

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        float sum = 0;
        for (int64_t i = 0; i < x_dim1; ++i) sum += to[i] = std::exp(from[i]);
        for (int64_t i = 0; i < x_dim1; ++i) to[i] /= sum;
    }
    return 0;
}
