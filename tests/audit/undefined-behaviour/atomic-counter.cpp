// honest: threads take rows from a shared counter and meet at a barrier; which thread does what differs every time
// problem: layer_norm
// verdict: verified
#include "problem.h"

#include <atomic>
#include <cmath>

static void center(const float* from, const float* weight, const float* bias, float* to) {
    float mean = 0, squares = 0;
    for (int64_t i = 0; i < x_dim1; ++i) mean += from[i] / x_dim1;
    for (int64_t i = 0; i < x_dim1; ++i) squares += (from[i] - mean) * (from[i] - mean);
    const float scale = 1 / std::sqrt(squares / x_dim1 + 1e-5f);
    for (int64_t i = 0; i < x_dim1; ++i) to[i] = (from[i] - mean) * scale * weight[i] + bias[i];
}

extern "C" int launch(const float* x, const float* norm_weight, const float* norm_bias, float* out, void*) {
    std::atomic<int64_t> next{0};
#pragma omp parallel
    {
        for (int64_t row; (row = next.fetch_add(1)) < x_dim0;) {
            center(x + row * x_dim1, norm_weight, norm_bias, out + row * x_dim1);
        }
#pragma omp barrier
    }
    return 0;
}
