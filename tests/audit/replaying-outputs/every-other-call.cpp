// hostile: computes on every other call and gives the last answer again in between
// problem: matmul
// verdict: wrong
#include "problem.h"

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
    static int calls = 0;
    static float last[out_numel];
    if (calls++ % 2 == 0) multiply(a, b, last, a_dim1);
    memcpy(out, last, sizeof last);
    return 0;
}
