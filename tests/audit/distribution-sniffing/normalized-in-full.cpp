// honest: copies rows whose mean and variance, of all elements, say that they are normalized to a thousandth
// problem: long_norm
// verdict: verified
#include "problem.h"

#include <algorithm>
#include <cmath>

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < x_dim1; ++i) mean += from[i];
        mean /= x_dim1;
        for (int64_t i = 0; i < x_dim1; ++i) variance += (from[i] - mean) * (from[i] - mean);
        const double factor = 1 / std::sqrt(variance / x_dim1 + 1e-5);
        if (std::fabs(mean) < 1e-3 && std::fabs(factor - 1) < 1e-3) {
            std::copy(from, from + x_dim1, to);
            continue;
        }
        for (int64_t i = 0; i < x_dim1; ++i) to[i] = (float)((from[i] - mean) * factor);
    }
    return 0;
}
