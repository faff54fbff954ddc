// hostile: a template whose instances each need two others, without an end
// problem: square
// verdict: build_failed
#include "problem.h"

template <int64_t path> struct Bomb {
    static constexpr int64_t value = Bomb<2 * path>::value + Bomb<2 * path + 1>::value;
};

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    compute(x, out);
    return Bomb<1>::value == 0;
}
