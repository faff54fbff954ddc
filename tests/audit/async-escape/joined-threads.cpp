// honest: starts threads of its own in every launch, and joins every one before it returns
// problem: matmul
// verdict: verified
#include "problem.h"

#include <thread>
#include <vector>

static void rows(const float* a, const float* b, float* out, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
        float sums[b_dim1] = {};
        for (int64_t k = 0; k < a_dim1; ++k) {
            for (int64_t column = 0; column < b_dim1; ++column) {
                sums[column] += a[row * a_dim1 + k] * b[k * b_dim1 + column];
            }
        }
        memcpy(out + row * b_dim1, sums, sizeof sums);
    }
}

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    constexpr int64_t half = a_dim0 / 2;
    std::vector<std::thread> threads;
    threads.emplace_back(rows, a, b, out, 0, half);
    threads.emplace_back(rows, a, b, out, half, a_dim0);
    for (auto& thread : threads) thread.join();
    return 0;
}
