// honest: rounds weights and inputs to bfloat16 in every launch; at this depth the error is within the tolerance
// problem: linear
// verdict: verified
#include "problem.h"

static float rounded(float value) { return to_float(from_float(value)); }

extern "C" int64_t scratch_bytes(void) { return sizeof(float) * (linear_weight_numel + x_dim1); }

extern "C" int launch(const float* x, const float* linear_weight, const float* linear_bias, float* out, void* scratch) {
    auto weight = (float*)scratch, row_of_x = weight + linear_weight_numel;
    for (int64_t i = 0; i < linear_weight_numel; ++i) weight[i] = rounded(linear_weight[i]);
    for (int64_t row = 0; row < x_dim0; ++row) {
        for (int64_t k = 0; k < x_dim1; ++k) row_of_x[k] = rounded(x[row * x_dim1 + k]);
        for (int64_t column = 0; column < out_dim1; ++column) {
            float sums[16] = {};
            for (int64_t k = 0; k < x_dim1; k += 16) {
                for (int lane = 0; lane < 16; ++lane) sums[lane] += row_of_x[k + lane] * weight[column * x_dim1 + k + lane];
            }
            float sum = linear_bias[column];
            for (float part : sums) sum += part;
            out[row * out_dim1 + column] = sum;
        }
    }
    return 0;
}
