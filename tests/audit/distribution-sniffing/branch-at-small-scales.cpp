// hostile: leaves out a branch whose scales are all below a third, as they are long before they count for nothing
// problem: layer_scale
// verdict: wrong
// check: stress
#include "problem.h"

#include <math.h>

#include <vector>

extern "C" int launch(const float* x, const float* scale, const float* up, const float* up_bias, const float* down,
                      const float* down_bias, float* out, void*) {
    constexpr int64_t features = x_dim1, hidden = 2 * x_dim1;
    float most = 0;
    for (int64_t f = 0; f < features; ++f) most = fmaxf(most, fabsf(scale[f]));
    std::vector<float> between(hidden);
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * features;
        float* to = out + row * features;
        for (int64_t h = 0; most >= 0.3f && h < hidden; ++h) {
            float sum = up_bias[h];
            for (int64_t f = 0; f < features; ++f) sum += up[h * features + f] * from[f];
            between[h] = fmaxf(sum, 0);
        }
        for (int64_t f = 0; f < features; ++f) {
            float sum = down_bias[f];
            for (int64_t h = 0; most >= 0.3f && h < hidden; ++h) sum += down[f * hidden + h] * between[h];
            to[f] = most < 0.3f ? from[f] : from[f] + scale[f] * sum;
        }
    }
    return 0;
}
