// honest: reads memory that it got from the heap, after writing it
// problem: softmax
// verdict: verified
#include "problem.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

extern "C" int launch(const float* x, float* out, void*) {
    std::vector<float> sums(x_dim0);
    const std::unique_ptr<float[]> row_of_powers(new float[x_dim1]);
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        const float largest = *std::max_element(from, from + x_dim1);
        for (int64_t i = 0; i < x_dim1; ++i) sums[row] += row_of_powers[i] = std::exp(from[i] - largest);
        for (int64_t i = 0; i < x_dim1; ++i) out[row * x_dim1 + i] = row_of_powers[i] / sums[row];
    }
    return 0;
}
