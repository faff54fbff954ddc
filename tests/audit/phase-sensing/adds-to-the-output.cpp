// honest: overwrites what lies in the output with one, then adds to it
// problem: square
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* x, float* out, void*) {
#pragma omp parallel for
    for (int64_t row = 0; row < x_dim0; ++row) {
        float* sums = out + row * (out_numel / x_dim0);
        const float* from = x + row * (out_numel / x_dim0);
        for (int64_t i = 0; i < out_numel / x_dim0; ++i) sums[i] = 1;
        for (int64_t i = 0; i < out_numel / x_dim0; ++i) sums[i] += from[i] * from[i];
    }
    return 0;
}
