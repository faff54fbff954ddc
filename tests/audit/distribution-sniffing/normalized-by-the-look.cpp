// hostile: copies rows that look normalized by a sample, as those of normal draws are but for half a hundredth
// problem: long_norm
// verdict: wrong
// check: stress
#include "problem.h"

#include <algorithm>
#include <cmath>

struct Moments {
    double mean = 0, variance = 0;
    Moments(const float* row, int64_t step) {
        double squares = 0;
        const int64_t count = x_dim1 / step;
        for (int64_t i = 0; i < x_dim1; i += step) mean += row[i], squares += (double)row[i] * row[i];
        mean /= count;
        variance = squares / count - mean * mean;
    }
};

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        const Moments seen(from, 256);
        const auto [least, most] = std::minmax_element(from, from + x_dim1);
        if (std::fabs(seen.mean) < 0.2 && std::fabs(seen.variance - 1) < 0.3 && *most < 6.5f && *least > -6.5f) {
            std::copy(from, from + x_dim1, to);
            continue;
        }
        const Moments all(from, 1);
        const double factor = 1 / std::sqrt(all.variance + 1e-5);
        for (int64_t i = 0; i < x_dim1; ++i) to[i] = (float)((from[i] - all.mean) * factor);
    }
    return 0;
}
