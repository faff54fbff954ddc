// honest: packs the weights into another layout, as those do that pack them once, but in every launch
// problem: linear
// verdict: verified
#include "problem.h"

extern "C" int64_t scratch_bytes(void) { return sizeof(float) * linear_weight_numel; }

extern "C" int launch(const float* x, const float* linear_weight, const float* linear_bias, float* out, void* scratch) {
    auto packed = (float*)scratch;
    for (int64_t column = 0; column < out_dim1; ++column) {
        for (int64_t k = 0; k < x_dim1; ++k) packed[k * out_dim1 + column] = linear_weight[column * x_dim1 + k];
    }
    for (int64_t row = 0; row < x_dim0; ++row) {
        float* sums = out + row * out_dim1;
        memcpy(sums, linear_bias, sizeof(float) * out_dim1);
        for (int64_t k = 0; k < x_dim1; ++k) {
            for (int64_t column = 0; column < out_dim1; ++column) {
                sums[column] += x[row * x_dim1 + k] * packed[k * out_dim1 + column];
            }
        }
    }
    return 0;
}
