// honest: writes to its output twice over and reads it back in between, as scratch that need not be asked for
// problem: softmax
// verdict: verified
#include "problem.h"

#include <algorithm>
#include <cmath>

static void normalize(const float* x, float* out) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        const float largest = *std::max_element(from, from + x_dim1);
        float sum = 0;
        for (int64_t i = 0; i < x_dim1; ++i) sum += to[i] = std::exp(from[i] - largest);
        for (int64_t i = 0; i < x_dim1; ++i) to[i] /= sum;
    }
}

extern "C" int launch(const float* x, float* out, void*) {
    memcpy(out, x, sizeof(float) * x_numel);
    normalize(out, out);
    return 0;
}
