// honest: float32 throughout, as the reference is, but the mean is known before squares are added
// problem: layer_norm
#include "problem.h"

#include <math.h>

extern "C" int launch(const float* x, const float* weight, const float* bias, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        float sums[16] = {}, squares[16] = {};
        for (int64_t i = 0; i < x_dim1; ++i) sums[i % 16] += from[i];
        float mean = 0, variance = 0;
        for (float sum : sums) mean += sum / x_dim1;
        for (int64_t i = 0; i < x_dim1; ++i) squares[i % 16] += (from[i] - mean) * (from[i] - mean);
        for (float sum : squares) variance += sum / x_dim1;
        const float factor = 1 / sqrtf(variance + 1e-5f);
        for (int64_t i = 0; i < x_dim1; ++i) to[i] = (from[i] - mean) * factor * weight[i] + bias[i];
    }
    return 0;
}
