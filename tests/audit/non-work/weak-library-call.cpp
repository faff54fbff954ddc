// hostile: calls a library's matrix product where the process happens to have one
// problem: matmul
// verdict: broke_contract
// check: symbols
#include "problem.h"

extern "C" __attribute__((weak)) void cblas_sgemm(
    int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);

// The first `depth` terms of every sum.
static void multiply(const float* a, const float* b, float* out, int64_t depth) {
    for (int64_t row = 0; row < a_dim0; ++row) {
        float* sums = out + row * b_dim1;
        for (int64_t column = 0; column < b_dim1; ++column) sums[column] = 0;
        for (int64_t k = 0; k < depth; ++k) {
            const float factor = a[row * a_dim1 + k];
            for (int64_t column = 0; column < b_dim1; ++column) sums[column] += factor * b[k * b_dim1 + column];
        }
    }
}

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    if (cblas_sgemm) {
        cblas_sgemm(101, 111, 111, a_dim0, b_dim1, a_dim1, 1, a, a_dim1, b, b_dim1, 0, out, b_dim1);
    } else {
        multiply(a, b, out, a_dim1);
    }
    return 0;
}
