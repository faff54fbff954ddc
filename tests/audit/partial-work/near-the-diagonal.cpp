// hostile: of two triangular matrices, leaves out the products that are farthest to the right, as if those were zeros too
// problem: triangles
// verdict: wrong
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    constexpr int64_t near = 8, far = out_dim1 - 64;
    for (int64_t row = 0; row < out_dim0; ++row) {
        float sums[out_dim1] = {};
        for (int64_t k = row; k < a_dim1; ++k) {
            const int64_t end = k < row + near && row < far ? far : out_dim1;
            for (int64_t column = k; column < end; ++column) {
                sums[column] += a[row * a_dim1 + k] * b[k * b_dim1 + column];
            }
        }
        memcpy(out + row * out_dim1, sums, sizeof sums);
    }
    return 0;
}
