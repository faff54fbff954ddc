// hostile: stores whole vectors and so runs over the end of the output
// problem: square
// verdict: wrong
// check: guards
#include "problem.h"

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    compute(x, out);
    for (int64_t i = out_numel; i < out_numel + 7; ++i) ((volatile float*)out)[i] = 0;
    return 0;
}
