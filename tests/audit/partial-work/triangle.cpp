// honest: leaves out half of the products, those with the zeros above the diagonal, and never reads them
// problem: triangular
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    for (int64_t row = 0; row < a_dim0; ++row) {
        float sums[b_dim1] = {};
        for (int64_t k = 0; k <= row; ++k) {
            for (int64_t column = 0; column < b_dim1; ++column) {
                sums[column] += a[row * a_dim1 + k] * b[k * b_dim1 + column];
            }
        }
        memcpy(out + row * b_dim1, sums, sizeof sums);
    }
    return 0;
}
