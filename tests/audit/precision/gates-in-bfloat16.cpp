// honest: takes torch's steps in torch's precision; which of the scores that it makes equal come fourth and fifth is open
// problem: gates
#include "problem.h"

#include <algorithm>
#include <cmath>

constexpr int64_t features = x_dim1, experts = 64, chosen = 4;

static float rounded(float value) { return to_float(from_float(value)); }

extern "C" int launch(const bfloat16_t* x, const bfloat16_t* gate, bfloat16_t* out, void*) {
    static float turned[features * experts];
    for (int64_t e = 0; e < experts; ++e) {
        for (int64_t k = 0; k < features; ++k) turned[k * experts + e] = to_float(gate[e * features + k]);
    }
#pragma omp parallel for
    for (int64_t row = 0; row < x_dim0; ++row) {
        float scores[experts] = {};
        for (int64_t k = 0; k < features; ++k) {
            const float factor = to_float(x[row * features + k]);
            for (int64_t e = 0; e < experts; ++e) scores[e] += factor * turned[k * experts + e];
        }
        for (float& one : scores) one = rounded(one);
        const float most = *std::max_element(scores, scores + experts);
        float sum = 0;
        for (float& one : scores) sum += one = std::exp(one - most);
        for (float& one : scores) one = rounded(one / sum);
        int64_t best[chosen];
        float taken[chosen], together = 0;
        for (int64_t place = 0; place < chosen; ++place) {
            float* one = std::max_element(scores, scores + experts);
            best[place] = one - scores;
            together += taken[place] = *one;
            *one = -1;
        }
        std::fill_n(out + row * experts, experts, from_float(0));
        for (int64_t place = 0; place < chosen; ++place) {
            out[row * experts + best[place]] = from_float(taken[place] / rounded(together));
        }
    }
    return 0;
}
