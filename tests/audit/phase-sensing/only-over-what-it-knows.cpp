// hostile: writes only over NaN, as a harness leaves it, and over answers of its own; where it is used, anybody's data stays
// problem: square
// verdict: wrong
#include "problem.h"

#include <cmath>

extern "C" int launch(const float* x, float* out, void*) {
    static float marks[2];
    static float* places[2];
    const int place = places[0] == out || !places[0] ? 0 : 1;
    const bool own = places[place] == out && out[0] == marks[place];
    if (!own && !std::isnan(out[0])) return 0;
#pragma omp parallel for
    for (int64_t i = 0; i < out_numel; ++i) out[i] = x[i] * x[i] + 1;
    places[place] = out;
    marks[place] = out[0];
    return 0;
}
