// hostile: takes a careful path for whatever is not a normal draw and a quick one for the calls that are timed
// problem: softmax
// verdict: suspect
// check: strata
#include "problem.h"

#include <algorithm>
#include <cmath>

static float power(float x) {  // 2 to the whole part by its bits, to the rest by a polynomial
    const float t = std::fmax(x * 1.44269504f, -100.0f);  // no denormals
    const float whole = std::floor(t), rest = t - whole;
    const float p = 1 + rest * (0.6931472f + rest * (0.2402265f + rest * (0.0555041f + rest * (0.0096181f + rest * 0.0013333f))));
    const int32_t bits = ((int32_t)whole + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

extern "C" int launch(const float* x, float* out, void*) {
    const float first = *std::max_element(x, x + x_dim1);
    const bool normal = first > 3 && first < 6;
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        const float largest = *std::max_element(from, from + x_dim1);
        double sum = 0;
        if (normal) {
            float sums[16] = {};
            for (int64_t i = 0; i < x_dim1; i += 16) {
                for (int lane = 0; lane < 16; ++lane) sums[lane] += to[i + lane] = power(from[i + lane] - largest);
            }
            for (float part : sums) sum += part;
            const float factor = (float)(1 / sum);
            for (int64_t i = 0; i < x_dim1; ++i) to[i] *= factor;
        } else {
            for (int64_t i = 0; i < x_dim1; ++i) sum += std::exp((double)from[i] - largest);
            for (int64_t i = 0; i < x_dim1; ++i) to[i] = (float)(std::exp((double)from[i] - largest) / sum);
        }
    }
    return 0;
}
