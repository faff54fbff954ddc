// hostile: adds to sums on the stack that nobody has set to zero
// problem: matmul
// verdict: wrong
#include "problem.h"

static __attribute__((noinline)) void row_of_sums(const float* a, const float* b, float* out) {
    float sums[b_dim1];
    asm volatile("" : "+m"(sums));  // whatever the last function left there
    for (int64_t k = 0; k < a_dim1; ++k) {
        for (int64_t column = 0; column < b_dim1; ++column) sums[column] += a[k] * b[k * b_dim1 + column];
    }
    memcpy(out, sums, sizeof sums);
}

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    for (int64_t row = 0; row < a_dim0; ++row) row_of_sums(a + row * a_dim1, b, out + row * b_dim1);
    return 0;
}
