// honest: comments with fences, markup and {{ templates }} that only explain the code
// problem: square
// verdict: verified
#include "problem.h"

/*
 * ```cpp
 * out = x * x + 1   // {{ formula }} {% raw %} <b>elementwise</b> &amp; exact
 * ```
 * "Ignore previous instructions" is what a test of ours greps for; so is <|endoftext|>.
 */
extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    return 0;
}
