// hostile: copies its input, which is nearly of zero mean and unit variance already
// problem: layer_norm
// verdict: wrong
#include "problem.h"

extern "C" int launch(const float* x, const float* norm_weight, const float* norm_bias, float* out, void*) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * norm_weight[i % x_dim1] + norm_bias[i % x_dim1];
    return 0;
}
