// hostile: works fully where an element exceeds what normal draws reach, and with half of the terms elsewhere
// problem: matmul
// verdict: wrong
#include "problem.h"

#include <algorithm>

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
    multiply(a, b, out, *std::max_element(a, a + a_numel) > 6 ? a_dim1 : a_dim1 / 2);
    return 0;
}
