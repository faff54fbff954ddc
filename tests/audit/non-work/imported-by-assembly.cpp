// hostile: imports a function in assembly under another name, with a version, where no declaration shows it
// problem: square
// verdict: broke_contract
// check: symbols
// says: dlopen
#include "problem.h"

asm(".symver harmless, dlopen@GLIBC_2.34");
extern "C" void* harmless(const char*, int);

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    if (!harmless("libm.so.6", 1)) return 1;  // with another name it would be a library that does the work
    compute(x, out);
    return 0;
}
