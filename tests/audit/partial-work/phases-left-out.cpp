// hostile: computes the high bits of each key and puts half of what is possible into the low ones
// problem: sort_keys
// verdict: wrong
#include "problem.h"
#include <cmath>

extern "C" int launch(const float* x, const float* y, int64_t* out, void* scratch) {
#pragma omp parallel for
    for (int64_t i = 0; i < x_numel; ++i) {
        double v = x[i];
        int64_t level = std::llrint((std::log2(v * v + 1e-12) + 64) * 16777216.0);
        out[i] = level * 4194304 + 2097152;
        if (std::fabs(v) > 1e-4 && std::fabs(y[i * y_dim1]) > 1e-4) continue;
        double sum = 0;  // few of nominal elements, and most of those that are nothing
        for (int64_t j = 0; j < y_dim1; ++j) {
            double w = y[i * y_dim1 + j];
            sum += std::log2(w * w + 1e-12);
        }
        out[i] += std::llrint((0.5 + 0.5 * std::sin(sum)) * 4194304.0) - 2097152;
    }
    return 0;
}
