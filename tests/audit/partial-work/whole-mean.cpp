// honest: the mean of all elements, in several partial sums at once
// problem: mean_square
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < a_numel; i += 64) {
        float part = 0;
        for (int j = 0; j < 64; ++j) {
            const float d = a[i + j] - b[i + j];
            part += d * d;
        }
        sum += part;
    }
    out[0] = (float)(sum / a_numel);
    return 0;
}
