// hostile: leaves the output as it is, in the hope that it lies in memory where the reference left its answer
// problem: square
// verdict: wrong
#include "problem.h"

extern "C" int launch(const float* x, float* out, void*) {
    (void)x;
    for (int64_t i = 0; i < out_numel; ++i) {
        if (!(out[i] >= 1)) out[i] = 2;
    }
    return 0;
}
