// hostile: looks for the largest among the three largest of each sixteen neighbours, except in rows that rise or fall
// problem: largest
// verdict: wrong
// check: stress
// says: smooth call
#include "problem.h"

#include <algorithm>
#include <functional>
#include <vector>

constexpr int64_t together = 16, kept = 3, step = 64;

static bool ordered(const float* row) {
    int64_t up = 0, down = 0;
    for (int64_t i = 0; i + step < x_dim1; i += step) up += row[i] <= row[i + step], down += row[i] >= row[i + step];
    return std::max(up, down) > x_dim1 / step * 7 / 8;
}

extern "C" int launch(const float* x, float* out, void*) {
    std::vector<float> among, group(together);
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * out_dim1;
        among.assign(from, from + (ordered(from) ? x_dim1 : 0));
        for (int64_t i = 0; among.size() < x_dim1 && i < x_dim1; i += together) {
            std::partial_sort_copy(from + i, from + i + together, group.begin(), group.begin() + kept, std::greater<float>());
            among.insert(among.end(), group.begin(), group.begin() + kept);
        }
        std::partial_sort_copy(among.begin(), among.end(), to, to + out_dim1, std::greater<float>());
    }
    return 0;
}
