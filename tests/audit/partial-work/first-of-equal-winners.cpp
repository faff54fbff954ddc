// honest: of equal numbers it takes the first, which the reference does not promise
// problem: winners
// verdict: verified
#include "problem.h"
#include <algorithm>
#include <vector>

extern "C" int launch(const float* x, float* out, void* scratch) {
    const int64_t kept = 8;
#pragma omp parallel for
    for (int64_t r = 0; r < x_dim0; ++r) {
        const float* row = x + r * x_dim1;
        std::vector<int64_t> places(x_dim1);
        for (int64_t i = 0; i < x_dim1; ++i) places[i] = i;
        std::stable_sort(places.begin(), places.end(), [row](int64_t a, int64_t b) { return row[a] > row[b]; });
        std::fill(out + r * x_dim1, out + (r + 1) * x_dim1, 0.0f);
        for (int64_t k = 0; k < kept; ++k) out[r * x_dim1 + places[k]] = row[places[k]];
    }
    return 0;
}
