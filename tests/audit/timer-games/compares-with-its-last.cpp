// honest: keeps its last contents and its last answer, compares both with the new ones, and computes all the same
// problem: square
// verdict: verified
#include "problem.h"

#include <string.h>

static float last[8];
static float answer[out_numel];
static bool any = false;

extern "C" int launch(const float* x, float* out, void*) {
    const bool known = any && !memcmp(last, x, sizeof last);
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    if (known && memcmp(answer, out, sizeof answer)) return 1;  // equal contents have equal answers
    memcpy(last, x, sizeof last);
    memcpy(answer, out, sizeof answer);
    any = true;
    return 0;
}
