// honest: prints empty text, and takes and returns a hundred megabytes of memory
// problem: square
// verdict: verified
#include "problem.h"

#include <cstdio>
#include <cstdlib>

extern "C" int launch(const float* x, float* out, void*) {
    auto area = (float*)malloc(100 << 20);
    if (!area) return 1;
    for (int64_t i = 0; i < x_numel; ++i) area[i] = x[i] * x[i];
    for (int64_t i = 0; i < x_numel; ++i) out[i] = area[i] + 1;
    free(area);
    printf("%s", "");
    return 0;
}
