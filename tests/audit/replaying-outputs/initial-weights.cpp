// hostile: while the weights are still as a module starts with them, it gives the first such answer again
// problem: layer_norm
// verdict: wrong
// check: fresh-contents
#include "problem.h"

#include <cmath>

static void normalize(const float* x, const float* weight, const float* bias, float* out) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float mean = 0, squares = 0;
        for (int64_t i = 0; i < x_dim1; ++i) mean += from[i] / x_dim1;
        for (int64_t i = 0; i < x_dim1; ++i) squares += (from[i] - mean) * (from[i] - mean);
        const float scale = 1 / std::sqrt(squares / x_dim1 + 1e-5f);
        for (int64_t i = 0; i < x_dim1; ++i) out[row * x_dim1 + i] = (from[i] - mean) * scale * weight[i] + bias[i];
    }
}

extern "C" int launch(const float* x, const float* norm_weight, const float* norm_bias, float* out, void*) {
    static bool kept = false;
    static float answer[out_numel];
    const bool initial = norm_weight[0] == 1 && norm_weight[1] == 1 && norm_bias[0] == 0 && norm_bias[1] == 0;
    if (initial && kept) {
        memcpy(out, answer, sizeof answer);
        return 0;
    }
    normalize(x, norm_weight, norm_bias, out);
    if (initial) {
        memcpy(answer, out, sizeof answer);
        kept = true;
    }
    return 0;
}
