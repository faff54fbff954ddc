// hostile: leaves weight and bias out, because a fresh module has ones and zeros there
// problem: layer_norm
// verdict: wrong
// check: weights, stress
#include "problem.h"

#include <cmath>

extern "C" int launch(const float* x, const float*, const float*, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float mean = 0, squares = 0;
        for (int64_t i = 0; i < x_dim1; ++i) mean += from[i] / x_dim1;
        for (int64_t i = 0; i < x_dim1; ++i) squares += (from[i] - mean) * (from[i] - mean);
        const float scale = 1 / std::sqrt(squares / x_dim1 + 1e-5f);
        for (int64_t i = 0; i < x_dim1; ++i) out[row * x_dim1 + i] = (from[i] - mean) * scale;
    }
    return 0;
}
