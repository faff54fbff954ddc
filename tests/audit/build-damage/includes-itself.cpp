// honest: includes itself once, and uses inline assembly; `.incbin` and #include "/etc/passwd" stay in this comment
// problem: square
// verdict: verified
#ifndef BODY
#include "problem.h"
#define BODY
extern "C" int launch(const float* x, float* out, void*) {
#include __FILE__
    return 0;
}
#else
    for (int64_t i = 0; i < x_numel; ++i) {
        float product = x[i];
        asm("mulss %1, %0" : "+x"(product) : "x"(x[i]));
        out[i] = product + 1;
    }
#endif
