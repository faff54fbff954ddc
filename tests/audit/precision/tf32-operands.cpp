// honest: rounds operands to ten bits after the point, as TF32 does, and adds up in float32
// problem: linear
// verdict: verified
#include "problem.h"

static void apply(const float* x, const float* weight, const float* bias, float* out) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        for (int64_t column = 0; column < out_dim1; ++column) {
            float sums[16] = {};
            for (int64_t k = 0; k < x_dim1; k += 16) {
                for (int lane = 0; lane < 16; ++lane) {
                    sums[lane] += x[row * x_dim1 + k + lane] * weight[column * x_dim1 + k + lane];
                }
            }
            float sum = bias[column];
            for (float part : sums) sum += part;
            out[row * out_dim1 + column] = sum;
        }
    }
}

static float rounded(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + (1u << 12)) & ~((1u << 13) - 1);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

extern "C" int64_t scratch_bytes(void) { return sizeof(float) * (linear_weight_numel + x_numel); }

extern "C" int launch(const float* x, const float* linear_weight, const float* linear_bias, float* out, void* scratch) {
    auto weight = (float*)scratch, inputs = weight + linear_weight_numel;
    for (int64_t i = 0; i < x_numel; ++i) inputs[i] = rounded(x[i]);
    for (int64_t i = 0; i < linear_weight_numel; ++i) weight[i] = rounded(linear_weight[i]);
    apply(inputs, weight, linear_bias, out);
    return 0;
}
