// hostile: asks the assembler for a library of hundreds of megabytes, and would have got gigabytes as well
// problem: square
// verdict: build_failed
// check: compiler
#include "problem.h"

asm(".pushsection .rodata\n.zero 400000000, 7\n.popsection");

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    compute(x, out);
    return 0;
}
