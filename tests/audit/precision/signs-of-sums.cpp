// honest: adds up one term after the other, so that a few sums next to zero have the other sign
// problem: signs
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
#pragma omp parallel for
    for (int64_t row = 0; row < a_dim0; ++row) {
        float sums[b_dim1] = {};
        for (int64_t k = 0; k < a_dim1; ++k) {
            for (int64_t column = 0; column < b_dim1; ++column) sums[column] += a[row * a_dim1 + k] * b[k * b_dim1 + column];
        }
        for (int64_t column = 0; column < b_dim1; ++column) {
            out[row * b_dim1 + column] = static_cast<float>((sums[column] > 0) - (sums[column] < 0));
        }
    }
    return 0;
}
