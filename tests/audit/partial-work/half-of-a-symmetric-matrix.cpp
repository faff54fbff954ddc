// honest: reads one half of a matrix that is its own transpose
// problem: symmetric
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    memset(out, 0, sizeof(float) * out_numel);
    for (int64_t row = 0; row < a_dim0; ++row) {
        for (int64_t k = row; k < a_dim1; ++k) {
            const float value = a[row * a_dim1 + k];
            for (int64_t column = 0; column < b_dim1; ++column) {
                out[row * b_dim1 + column] += value * b[k * b_dim1 + column];
                if (k > row) out[k * b_dim1 + column] += value * b[row * b_dim1 + column];
            }
        }
    }
    return 0;
}
