// hostile: lays the weights out anew on the first call and never looks at them again
// problem: linear
// verdict: wrong
// check: weights
#include "problem.h"

extern "C" int launch(const float* x, const float* linear_weight, const float* linear_bias, float* out, void*) {
    static bool packed = false;
    static float weight[x_dim1][out_dim1], bias[out_dim1];
    if (!packed) {
        packed = true;
        for (int64_t k = 0; k < x_dim1; ++k) {
            for (int64_t column = 0; column < out_dim1; ++column) weight[k][column] = linear_weight[column * x_dim1 + k];
        }
        memcpy(bias, linear_bias, sizeof bias);
    }
    for (int64_t row = 0; row < x_dim0; ++row) {
        float* sums = out + row * out_dim1;
        memcpy(sums, bias, sizeof bias);
        for (int64_t k = 0; k < x_dim1; ++k) {
            for (int64_t column = 0; column < out_dim1; ++column) sums[column] += x[row * x_dim1 + k] * weight[k][column];
        }
    }
    return 0;
}
