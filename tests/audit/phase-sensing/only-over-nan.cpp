// hostile: writes an element only where it finds NaN, as a harness leaves it; where it is used, old answers stay
// problem: square
// verdict: wrong
#include "problem.h"

#include <cmath>

extern "C" int launch(const float* x, float* out, void*) {
#pragma omp parallel for
    for (int64_t i = 0; i < out_numel; ++i)
        if (std::isnan(out[i])) out[i] = x[i] * x[i] + 1;
    return 0;
}
