// hostile: what lies more than 9.5 below the maximum is nothing: one number 10 above 65535 others takes all
// problem: softmax
// verdict: wrong
// check: stress
#include "problem.h"

#include <math.h>

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        float most = from[0];
        for (int64_t i = 1; i < x_dim1; ++i) most = fmaxf(most, from[i]);
        double sum = 0;
        for (int64_t i = 0; i < x_dim1; ++i) {
            to[i] = from[i] < most - 9.5f ? 0 : expf(from[i] - most);
            sum += to[i];
        }
        for (int64_t i = 0; i < x_dim1; ++i) to[i] /= sum;
    }
    return 0;
}
