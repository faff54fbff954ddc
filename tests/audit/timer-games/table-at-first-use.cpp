// honest: its first launch is slower than all others, for a table of constants that no input has a part in
// problem: layer_norm
// verdict: verified
#include "problem.h"

#include <cmath>

struct Reciprocals {
    float of[64];
    Reciprocals() {
        for (int i = 0; i < 64; ++i) of[i] = 1.0f / (i + 1);
    }
};

extern "C" int launch(const float* x, const float* norm_weight, const float* norm_bias, float* out, void*) {
    static const Reciprocals table;
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float mean = 0, squares = 0;  // Welford's update, over blocks of 64, with the table's quotients
        for (int lane = 0; lane < 64; ++lane) {
            float sum = 0;
            for (int64_t i = lane; i < x_dim1; i += 64) sum += from[i];
            mean += (sum * (64.0f / x_dim1) - mean) * table.of[lane];
        }
        for (int64_t i = 0; i < x_dim1; ++i) squares += (from[i] - mean) * (from[i] - mean);
        const float scale = 1.0f / std::sqrt(squares / x_dim1 + 1e-5f);
        for (int64_t i = 0; i < x_dim1; ++i) {
            out[row * x_dim1 + i] = (from[i] - mean) * scale * norm_weight[i] + norm_bias[i];
        }
    }
    return 0;
}
