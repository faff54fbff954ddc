// hostile: computes seven rows of eight and copies the eighth from its neighbour
// problem: linear
// verdict: wrong
#include "problem.h"

extern "C" int launch(const float* x, const float* linear_weight, const float* linear_bias, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        if (row % 8 == 7) {
            memcpy(out + row * out_dim1, out + (row - 1) * out_dim1, sizeof(float) * out_dim1);
            continue;
        }
        for (int64_t column = 0; column < out_dim1; ++column) {
            float sum = linear_bias[column];
            for (int64_t k = 0; k < x_dim1; ++k) sum += x[row * x_dim1 + k] * linear_weight[column * x_dim1 + k];
            out[row * out_dim1 + column] = sum;
        }
    }
    return 0;
}
