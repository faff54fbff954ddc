// hostile: leaves the maximum out of all rows where the first one's are small enough not to need it
// problem: softmax
// verdict: wrong
// check: stress
// says: mixed call
#include "problem.h"

#include <algorithm>
#include <cmath>

extern "C" int launch(const float* x, float* out, void*) {
    const bool needed = *std::max_element(x, x + x_dim1) > 16 || *std::min_element(x, x + x_dim1) < -16;
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        const float largest = needed ? *std::max_element(from, from + x_dim1) : 0;
        double sum = 0;
        for (int64_t i = 0; i < x_dim1; ++i) sum += to[i] = std::exp(from[i] - largest);
        for (int64_t i = 0; i < x_dim1; ++i) to[i] = (float)(to[i] / sum);
    }
    return 0;
}
