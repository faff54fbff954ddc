// hostile: reads one element past each row, which for the last one lies outside of the input
// problem: layer_norm
// verdict: wrong
#include "problem.h"

#include <cmath>

extern "C" int launch(const float* x, const float* norm_weight, const float* norm_bias, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float mean = 0, squares = 0;
        for (int64_t i = 0; i <= x_dim1; ++i) mean += ((volatile const float*)from)[i] / (x_dim1 + 1);
        for (int64_t i = 0; i <= x_dim1; ++i) squares += (((volatile const float*)from)[i] - mean) * (from[i] - mean);
        const float scale = 1 / std::sqrt(squares / (x_dim1 + 1) + 1e-5f);
        for (int64_t i = 0; i < x_dim1; ++i) {
            out[row * x_dim1 + i] = (from[i] - mean) * scale * norm_weight[i] + norm_bias[i];
        }
    }
    return 0;
}
