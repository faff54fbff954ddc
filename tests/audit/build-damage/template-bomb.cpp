// hostile: a template whose every instance needs the next, without an end
// problem: square
// verdict: build_failed
#include "problem.h"

template <int64_t level> struct Bomb : Bomb<level + 1> {};

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    compute(x, out);
    return sizeof(Bomb<1>) == 0;
}
