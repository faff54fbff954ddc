// hostile: hands the work to a thread that finishes after launch has returned
// problem: matmul
// verdict: wrong|broke_contract
#include "problem.h"

#include <thread>

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
    std::thread([=] {
        for (int again = 0; again < 4; ++again) multiply(a, b, out, a_dim1);  // some milliseconds
    }).detach();
    return 0;
}
