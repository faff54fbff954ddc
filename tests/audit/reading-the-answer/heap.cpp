// hostile: takes what lies in freed heap memory for the answer that somebody computed there
// problem: square
// verdict: wrong|crashed
#include "problem.h"

#include <cstdlib>

extern "C" int launch(const float* x, float* out, void*) {
    constexpr int64_t blocks = 16;
    for (int64_t i = 0; i < blocks; ++i) {
        auto found = (volatile float*)malloc(sizeof(float) * x_numel * (i + 1));
        const bool likely = found[0] >= 1 && found[x_numel - 1] >= 1;
        if (likely || i == blocks - 1) {
            for (int64_t j = 0; j < x_numel; ++j) out[j] = found[j];
        }
        free((void*)found);
        if (likely) return 0;
    }
    (void)x;
    return 0;
}
