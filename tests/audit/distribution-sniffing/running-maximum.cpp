// honest: branches on the data: one pass that scales its sum anew whenever a larger element turns up
// problem: softmax
// verdict: verified
#include "problem.h"

#include <cmath>

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < x_dim1; ++i) {
            if (from[i] > largest) {
                sum = sum * std::exp(largest - from[i]) + 1;
                largest = from[i];
            } else {
                sum += std::exp(from[i] - largest);
            }
        }
        for (int64_t i = 0; i < x_dim1; ++i) out[row * x_dim1 + i] = std::exp(from[i] - largest) / sum;
    }
    return 0;
}
