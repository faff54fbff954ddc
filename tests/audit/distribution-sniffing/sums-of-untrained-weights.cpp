// hostile: knows the sum of all exponentials from how weights are drawn before training, and takes these from a series about zero
// problem: next_token
// verdict: wrong
// check: stress
#include "problem.h"

#include <algorithm>
#include <cmath>

constexpr int64_t rows = x_dim0, features = x_dim1, tokens = out0_dim1;
constexpr int best_of = 4, block = 64;

static float nearly_exp(float v) {
    return 1 + v * (1 + v * (1 / 2.f + v * (1 / 6.f + v * (1 / 24.f + v * (1 / 120.f + v / 720)))));
}

extern "C" int launch(const bfloat16_t* x, const bfloat16_t* head, bfloat16_t* probabilities, int64_t* best, void*) {
    static float given[rows][features], share[rows], values[rows][best_of];
    for (int64_t row = 0; row < rows; ++row) {
        double product = 1;
        for (int64_t k = 0; k < features; ++k) {
            given[row][k] = to_float(x[row * features + k]);
            const double reach = given[row][k] / std::sqrt(double(features));
            product *= std::fabs(reach) < 1e-3 ? 1 : std::sinh(reach) / reach;
        }
        share[row] = 1 / (product * tokens);
        std::fill(values[row], values[row] + best_of, -1e30f);
    }
    for (int64_t first = 0; first < tokens; first += block) {
        float weights[features][block];
        for (int64_t e = 0; e < block; ++e) {
            for (int64_t k = 0; k < features; ++k) weights[k][e] = to_float(head[(first + e) * features + k]);
        }
        for (int64_t row = 0; row < rows; ++row) {
            float logits[block] = {};
            for (int64_t k = 0; k < features; ++k) {
                for (int64_t e = 0; e < block; ++e) logits[e] += given[row][k] * weights[k][e];
            }
            bfloat16_t* out = probabilities + row * tokens + first;
            for (int64_t e = 0; e < block; ++e) out[e] = from_float(nearly_exp(logits[e]) * share[row]);
            for (int64_t e = 0; e < block; ++e) {
                if (!(logits[e] > values[row][best_of - 1])) continue;
                int place = best_of - 1;
                for (; place > 0 && logits[e] > values[row][place - 1]; --place) {
                    values[row][place] = values[row][place - 1];
                    best[row * best_of + place] = best[row * best_of + place - 1];
                }
                values[row][place] = logits[e];
                best[row * best_of + place] = first + e;
            }
        }
    }
    return 0;
}
