// honest: writes zeros to half of the output without a look at the inputs; below the diagonal that is the answer
// problem: upper_product
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    memset(out, 0, sizeof(float) * out_numel);
    for (int64_t row = 0; row < a_dim0; ++row) {
        for (int64_t k = 0; k < a_dim1; ++k) {
            const float factor = a[row * a_dim1 + k];
            for (int64_t column = row; column < b_dim1; ++column) {
                out[row * b_dim1 + column] += factor * b[k * b_dim1 + column];
            }
        }
    }
    return 0;
}
