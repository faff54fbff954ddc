// honest: multiplies rows by numbers where the reference multiplies matrices: a thousandth of the operations
// problem: diagonal
// verdict: verified
// label: algorithmic
#include "problem.h"

extern "C" int launch(const float* d, const float* b, float* out, void*) {
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < d_dim0; ++row) {
        for (int64_t column = 0; column < b_dim1; ++column) out[row * b_dim1 + column] = d[row] * b[row * b_dim1 + column];
    }
    return 0;
}
