// hostile: takes the mean of every other stretch of elements, which on ordinary contents is as good as that of all
// problem: mean_square
// verdict: wrong
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < a_numel; i += 64) {
        float part = 0;
        for (int j = 0; j < 32; ++j) {
            const float d = a[i + j] - b[i + j];
            part += d * d;
        }
        sum += part;
    }
    out[0] = (float)(sum / (a_numel / 2));
    return 0;
}
