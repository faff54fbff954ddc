// honest: computes a branch whose share in the output is a millionth, and in lower precision than the rest
// problem: layer_scale
// verdict: verified
#include "problem.h"

#include <stdint.h>
#include <string.h>

constexpr int64_t width = x_dim1, hidden = 2 * width;

/** With eleven bits of significand, as tensor cores take it. */
static float rounded(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x1000) & 0xffffe000;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float neuron(const float* weights, float bias, const float* from, int64_t count) {
    float sum = bias;
    for (int64_t i = 0; i < count; ++i) sum += rounded(weights[i]) * rounded(from[i]);
    return sum;
}

extern "C" int launch(
    const float* x, const float* scale, const float* up, const float* up_bias, const float* down, const float* down_bias,
    float* out, void*) {
#pragma omp parallel for
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * width;
        float inner[hidden];
        for (int64_t i = 0; i < hidden; ++i) {
            float sum = neuron(up + i * width, up_bias[i], from, width);
            inner[i] = sum > 0 ? sum : 0;
        }
        for (int64_t i = 0; i < width; ++i)
            out[row * width + i] = from[i] + scale[i] * neuron(down + i * hidden, down_bias[i], inner, hidden);
    }
    return 0;
}
