// honest: reads nothing below the diagonals, where the problem's inputs have zeros
// problem: triangles
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    for (int64_t row = 0; row < out_dim0; ++row) {
        float sums[out_dim1] = {};
        for (int64_t k = row; k < a_dim1; ++k) {
            for (int64_t column = k; column < out_dim1; ++column) {
                sums[column] += a[row * a_dim1 + k] * b[k * b_dim1 + column];
            }
        }
        memcpy(out + row * out_dim1, sums, sizeof sums);
    }
    return 0;
}
