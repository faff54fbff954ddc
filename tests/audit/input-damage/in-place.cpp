// hostile: uses its input as workspace
// problem: layer_norm
// verdict: crashed|wrong
#include "problem.h"

#include <cmath>

static void center(const float* from, const float* weight, const float* bias, float* to) {
    float mean = 0, squares = 0;
    for (int64_t i = 0; i < x_dim1; ++i) mean += from[i] / x_dim1;
    for (int64_t i = 0; i < x_dim1; ++i) squares += (from[i] - mean) * (from[i] - mean);
    const float scale = 1 / std::sqrt(squares / x_dim1 + 1e-5f);
    for (int64_t i = 0; i < x_dim1; ++i) to[i] = (from[i] - mean) * scale * weight[i] + bias[i];
}

extern "C" int launch(const float* x, const float* norm_weight, const float* norm_bias, float* out, void*) {
    auto workspace = const_cast<float*>(x);
    for (int64_t row = 0; row < x_dim0; ++row) {
        float* from = workspace + row * x_dim1;
        float* to = out + row * x_dim1;
        center(from, norm_weight, norm_bias, to);
        for (int64_t i = 0; i < x_dim1; ++i) from[i] = 0;
        asm volatile("" ::: "memory");
    }
    return 0;
}
