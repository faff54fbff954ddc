// honest: threads share the terms of each sum and add their parts atomically, in no certain order
// problem: matmul
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    memset(out, 0, sizeof(float) * out_numel);
#pragma omp parallel for schedule(dynamic)
    for (int64_t part = 0; part < 8; ++part) {
        constexpr int64_t length = a_dim1 / 8;
        for (int64_t row = 0; row < a_dim0; ++row) {
            float sums[b_dim1] = {};
            for (int64_t k = part * length; k < (part + 1) * length; ++k) {
                for (int64_t column = 0; column < b_dim1; ++column) {
                    sums[column] += a[row * a_dim1 + k] * b[k * b_dim1 + column];
                }
            }
            for (int64_t column = 0; column < b_dim1; ++column) {
#pragma omp atomic
                out[row * b_dim1 + column] += sums[column];
            }
        }
    }
    return 0;
}
