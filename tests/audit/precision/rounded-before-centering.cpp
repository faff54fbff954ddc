// hostile: rounds inputs to bfloat16 before their mean is taken off, which an input far from zero does not survive
// problem: layer_norm
// verdict: wrong
// check: stress
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
    float inputs[x_dim1];
    for (int64_t row = 0; row < x_dim0; ++row) {
        for (int64_t i = 0; i < x_dim1; ++i) inputs[i] = to_float(from_float(x[row * x_dim1 + i]));
        center(inputs, norm_weight, norm_bias, out + row * x_dim1);
    }
    return 0;
}
