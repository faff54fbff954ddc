// honest: |a - b|² as 2 - 2 a·b, since all vectors are of length one
// problem: unit_vectors
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    for (int64_t row = 0; row < a_dim0; ++row) {
        for (int64_t column = 0; column < b_dim0; ++column) {
            float product = 0;
            for (int64_t i = 0; i < a_dim1; ++i) product += a[row * a_dim1 + i] * b[column * b_dim1 + i];
            out[row * b_dim0 + column] = 2 - 2 * product;
        }
    }
    return 0;
}
