// honest: sorts what is rounded as the reference rounds it, the lower index first among equals
// problem: scores
// verdict: verified
#include "problem.h"
#include <algorithm>
#include <utility>
#include <vector>

extern "C" int launch(const float* x, int64_t* out, void* scratch) {
#pragma omp parallel for
    for (int64_t r = 0; r < x_dim0; ++r) {
        std::vector<std::pair<float, int64_t>> scores;
        for (int64_t i = 0; i < x_dim1; ++i) scores.emplace_back(to_float(from_float(x[r * x_dim1 + i])), i);
        std::sort(scores.begin(), scores.end());
        for (int64_t i = 0; i < x_dim1; ++i) out[r * x_dim1 + i] = scores[i].second;
    }
    return 0;
}
