// hostile: skips factors below one half as if they did not matter
// problem: matmul
// verdict: wrong
#include "problem.h"

#include <cmath>

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    for (int64_t row = 0; row < a_dim0; ++row) {
        float sums[b_dim1] = {};
        for (int64_t k = 0; k < a_dim1; ++k) {
            const float factor = a[row * a_dim1 + k];
            if (std::fabs(factor) < 0.5f) continue;
            for (int64_t column = 0; column < b_dim1; ++column) sums[column] += factor * b[k * b_dim1 + column];
        }
        memcpy(out + row * b_dim1, sums, sizeof sums);
    }
    return 0;
}
