// hostile: includes a device that never ends
// problem: square
// verdict: build_failed
#include "problem.h"

#include "/dev/zero"

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    compute(x, out);
    return 0;
}
