// honest: a product of positive matrices, in single precision and blocks of 256 terms
// problem: positive_matmul
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    memset(out, 0, sizeof(float) * out_numel);
    for (int64_t first = 0; first < a_dim1; first += 256) {
        for (int64_t row = 0; row < a_dim0; ++row) {
            float sums[b_dim1] = {};
            for (int64_t k = first; k < first + 256; ++k) {
                for (int64_t column = 0; column < b_dim1; ++column) sums[column] += a[row * a_dim1 + k] * b[k * b_dim1 + column];
            }
            for (int64_t column = 0; column < b_dim1; ++column) out[row * b_dim1 + column] += sums[column];
        }
    }
    return 0;
}
