// hostile: rounds the weights to sixteen levels
// problem: linear
// verdict: wrong
#include "problem.h"

#include <cmath>

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

extern "C" int launch(const float* x, const float* linear_weight, const float* linear_bias, float* out, void*) {
    static float levels[linear_weight_numel];
    float largest = 0;
    for (int64_t i = 0; i < linear_weight_numel; ++i) largest = std::fmax(largest, std::fabs(linear_weight[i]));
    for (int64_t i = 0; i < linear_weight_numel; ++i) {
        levels[i] = std::rint(linear_weight[i] / largest * 7) * largest / 7;
    }
    apply(x, levels, linear_bias, out);
    return 0;
}
