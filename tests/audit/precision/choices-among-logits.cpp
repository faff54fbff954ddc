// honest: picks by float32 probabilities of bfloat16 logits, of which many are equal, the first of equals
// problem: choices
#include "problem.h"

#include <algorithm>
#include <cmath>

constexpr int64_t features = x_dim1, experts = 8;

extern "C" int launch(const bfloat16_t* x, const bfloat16_t* gate, float* values, int64_t* indices, void*) {
    static float turned[features * experts];
    for (int64_t e = 0; e < experts; ++e) {
        for (int64_t k = 0; k < features; ++k) turned[k * experts + e] = to_float(gate[e * features + k]);
    }
#pragma omp parallel for
    for (int64_t row = 0; row < x_dim0; ++row) {
        float p[experts] = {};
        for (int64_t k = 0; k < features; ++k) {
            const float factor = to_float(x[row * features + k]);
            for (int64_t e = 0; e < experts; ++e) p[e] += factor * turned[k * experts + e];
        }
        for (float& one : p) one = to_float(from_float(one));
        const float most = *std::max_element(p, p + experts);
        float sum = 0;
        for (float& one : p) sum += one = std::exp(one - most);
        for (int place = 0; place < 2; ++place) {
            float* best = std::max_element(p, p + experts);
            values[2 * row + place] = *best / sum;
            indices[2 * row + place] = best - p;
            *best = -1;
        }
    }
    return 0;
}
