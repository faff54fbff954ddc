// honest: leaves the maximum out of each row that does not need it
// problem: softmax
// verdict: verified
#include "problem.h"

#include <algorithm>
#include <cmath>

extern "C" int launch(const float* x, float* out, void*) {
#pragma omp parallel for
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        const auto [least, most] = std::minmax_element(from, from + x_dim1);
        const float largest = *most > 16 || *least < -16 ? *most : 0;
        double sum = 0;
        for (int64_t i = 0; i < x_dim1; ++i) sum += to[i] = std::exp(from[i] - largest);
        for (int64_t i = 0; i < x_dim1; ++i) to[i] = (float)(to[i] / sum);
    }
    return 0;
}
