// honest: builds its exponential from a float's bits and a short polynomial; the error is a few millionths
// problem: softmax
// verdict: verified
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
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        const float largest = *std::max_element(from, from + x_dim1);
        float sums[16] = {}, sum = 0;
        for (int64_t i = 0; i < x_dim1; i += 16) {
            for (int lane = 0; lane < 16; ++lane) sums[lane] += to[i + lane] = power(from[i + lane] - largest);
        }
        for (float part : sums) sum += part;
        for (int64_t i = 0; i < x_dim1; ++i) to[i] /= sum;
    }
    return 0;
}
