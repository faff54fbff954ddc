// honest: looks at every factor and skips those that are zero, which makes sparse inputs faster than others
// problem: matmul
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    for (int64_t row = 0; row < a_dim0; ++row) {
        float sums[b_dim1] = {};
        for (int64_t k = 0; k < a_dim1; ++k) {
            const float factor = a[row * a_dim1 + k];
            if (factor == 0) continue;
            for (int64_t column = 0; column < b_dim1; ++column) sums[column] += factor * b[k * b_dim1 + column];
        }
        memcpy(out + row * b_dim1, sums, sizeof sums);
    }
    return 0;
}
