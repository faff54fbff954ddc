// hostile: asks the preprocessor whether files exist, and becomes another kernel by the answer
// problem: square
// verdict: wrong
// check: compiler
#include "problem.h"

extern "C" int launch(const float* x, float* out, void*) {
#if __has_include("/etc/passwd") || __has_include("/etc/hostname")
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
#else
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i];
#endif
    return 0;
}
