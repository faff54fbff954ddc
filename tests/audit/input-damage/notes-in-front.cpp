// hostile: keeps a counter of its calls in the bytes in front of the output
// problem: square
// verdict: wrong
// check: guards
#include "problem.h"

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    auto notes = (volatile int64_t*)out - 2;
    compute(x, out);
    notes[0] = notes[0] + 1;
    return 0;
}
