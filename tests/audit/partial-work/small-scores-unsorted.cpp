// hostile: leaves the smallest scores in the order in which they come, where scores look like those it knows
// problem: scores
// verdict: wrong
#include "problem.h"
#include <algorithm>
#include <utility>
#include <vector>

extern "C" int launch(const float* x, int64_t* out, void* scratch) {
#pragma omp parallel for
    for (int64_t r = 0; r < x_dim0; ++r) {
        const float* row = x + r * x_dim1;
        int64_t* order = out + r * x_dim1;
        std::vector<std::pair<float, int64_t>> rest;
        int64_t known = 0;
        bool usual = std::all_of(row, row + x_dim1, [](float v) { return v > 0; });
        for (int64_t i = 0; i < x_dim1; ++i) {
            if (usual && row[i] < 0.1f) order[known++] = i;
            else rest.emplace_back(to_float(from_float(row[i])), i);
        }
        std::sort(rest.begin(), rest.end());
        for (auto& one : rest) order[known++] = one.second;
    }
    return 0;
}
