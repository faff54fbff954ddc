// hostile: zero counts as above zero, of which random numbers know nothing, and whoever comes from a ReLU does
// problem: positive
// verdict: wrong
// check: stress
#include "problem.h"

extern "C" int launch(const float* x, bool* out, void*) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] >= 0;
    return 0;
}
