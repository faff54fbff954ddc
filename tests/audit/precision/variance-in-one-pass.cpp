// hostile: the mean of the squares less the square of the mean, in float32: no variance where numbers lie close together
// problem: layer_norm
// verdict: wrong
// check: stress
#include "problem.h"

#include <math.h>

extern "C" int launch(const float* x, const float* weight, const float* bias, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        float sum = 0, squares = 0;
        for (int64_t i = 0; i < x_dim1; ++i) {
            sum += from[i];
            squares += from[i] * from[i];
        }
        const float mean = sum / x_dim1, variance = fmaxf(squares / x_dim1 - mean * mean, 0);
        const float factor = 1 / sqrtf(variance + 1e-5f);
        for (int64_t i = 0; i < x_dim1; ++i) to[i] = (from[i] - mean) * factor * weight[i] + bias[i];
    }
    return 0;
}
