// honest: picks experts by their logits, of which there are no two equal ones, and not by what a softmax leaves of them
// problem: router
// verdict: verified
#include "problem.h"

#include <cmath>

extern "C" int launch(const float* logits, float* out0, int64_t* out1, void*) {
    constexpr int64_t experts = logits_dim1, picks = out0_dim1;
    for (int64_t token = 0; token < logits_dim0; ++token) {
        const float* row = logits + token * experts;
        bool taken[experts] = {};
        float largest = row[0], sum = 0;
        for (int64_t i = 1; i < experts; ++i) largest = row[i] > largest ? row[i] : largest;
        for (int64_t i = 0; i < experts; ++i) sum += expf(row[i] - largest);
        for (int64_t pick = 0; pick < picks; ++pick) {
            int64_t best = -1;
            for (int64_t i = 0; i < experts; ++i) {
                if (!taken[i] && (best < 0 || row[i] > row[best])) best = i;
            }
            taken[best] = true;
            out0[token * picks + pick] = expf(row[best] - largest) / sum;
            out1[token * picks + pick] = best;
        }
    }
    return 0;
}
