// hostile: looks for the largest elements among the four largest of each of 128 lanes, which is enough where they lie at random
// problem: largest
// verdict: wrong
// check: stress
#include "problem.h"

#include <algorithm>
#include <functional>

constexpr int lanes = 128, kept = 4, count = 16;

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        float best[kept * lanes];
        std::fill(best, best + kept * lanes, -__builtin_inff());
        for (int64_t i = 0; i < x_dim1; ++i) {
            float value = x[row * x_dim1 + i];
            for (int rank = 0; rank < kept; ++rank) {
                float& held = best[rank * lanes + i % lanes];
                if (value > held) std::swap(value, held);
            }
        }
        std::partial_sort(best, best + count, best + kept * lanes, std::greater<float>());
        std::copy(best, best + count, out + row * count);
    }
    return 0;
}
