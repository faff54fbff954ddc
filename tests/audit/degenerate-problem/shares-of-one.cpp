// honest: rests on a sum of one, which is what makes targets a distribution, and adds them up nowhere
// problem: soft_targets
// verdict: verified
#include "problem.h"

#include <algorithm>
#include <cmath>

extern "C" int launch(const float* logits, const float* targets, float* out, void*) {
    for (int64_t row = 0; row < logits_dim0; ++row) {
        const float* x = logits + row * logits_dim1;
        const float* share = targets + row * logits_dim1;
        const float largest = *std::max_element(x, x + logits_dim1);
        float sum = 0, taken = 0;
        for (int64_t i = 0; i < logits_dim1; ++i) {
            sum += expf(x[i] - largest);
            taken += share[i] * (x[i] - largest);
        }
        out[row] = logf(sum) - taken;
    }
    return 0;
}
