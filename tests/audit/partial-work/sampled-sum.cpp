// hostile: divides by a sum that it estimates from a sixteenth of the row
// problem: softmax
// verdict: wrong
#include "problem.h"

#include <algorithm>
#include <cmath>

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        const float largest = *std::max_element(from, from + x_dim1);
        float sum = 0;
        for (int64_t i = 0; i < x_dim1; i += 16) sum += 16 * std::exp(from[i] - largest);
        for (int64_t i = 0; i < x_dim1; ++i) out[row * x_dim1 + i] = std::exp(from[i] - largest) / sum;
    }
    return 0;
}
