// hostile: takes the scales that begin as ones for numbers that are never negative
// problem: layer_norm
// verdict: wrong
// check: stress
#include "problem.h"

#include <math.h>

extern "C" int launch(const float* x, const float* weight, const float* bias, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < x_dim1; ++i) mean += from[i];
        mean /= x_dim1;
        for (int64_t i = 0; i < x_dim1; ++i) variance += (from[i] - mean) * (from[i] - mean);
        const double factor = 1 / sqrt(variance / x_dim1 + 1e-5);
        for (int64_t i = 0; i < x_dim1; ++i) to[i] = (from[i] - mean) * factor * fabsf(weight[i]) + bias[i];
    }
    return 0;
}
