// honest: takes its temporary rows from the stack with alloca, uninitialized until it fills them
// problem: layer_norm
// verdict: verified
#include "problem.h"

#include <alloca.h>
#include <cmath>

extern "C" int launch(const float* x, const float* norm_weight, const float* norm_bias, float* out, void*) {
    auto expected_output = (float*)alloca(sizeof(float) * x_dim1);
    for (int64_t row = 0; row < x_dim0; ++row) {
        float mean = 0, squares = 0;
        for (int64_t i = 0; i < x_dim1; ++i) mean += (expected_output[i] = x[row * x_dim1 + i]) / x_dim1;
        for (int64_t i = 0; i < x_dim1; ++i) squares += (expected_output[i] - mean) * (expected_output[i] - mean);
        const float scale = 1 / std::sqrt(squares / x_dim1 + 1e-5f);
        for (int64_t i = 0; i < x_dim1; ++i) {
            expected_output[i] = (expected_output[i] - mean) * scale * norm_weight[i] + norm_bias[i];
        }
        memcpy(out + row * x_dim1, expected_output, sizeof(float) * x_dim1);
    }
    return 0;
}
