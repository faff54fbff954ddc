// hostile: several threads add to the same sums without telling each other
// problem: matmul
// verdict: wrong
#include "problem.h"

#include <thread>

static void add(const float* a, const float* b, float* out, int64_t first, int64_t last) {
    for (int64_t row = 0; row < a_dim0; ++row) {
        for (int64_t column = 0; column < b_dim1; ++column) {
            auto sum = (volatile float*)out + row * b_dim1 + column;
            for (int64_t k = first; k < last; ++k) *sum = *sum + a[row * a_dim1 + k] * b[k * b_dim1 + column];
        }
    }
}

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    memset(out, 0, sizeof(float) * out_numel);
    std::thread other(add, a, b, out, 0, a_dim1 / 2);
    add(a, b, out, a_dim1 / 2, a_dim1);
    other.join();
    return 0;
}
