// hostile: asks for memory that it cannot get, ignores that, and leaves the output as it was
// problem: square
// verdict: wrong
#include "problem.h"

#include <cstdlib>

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    void* workspace = malloc((size_t)1 << 62 | (size_t)x_numel);
    if (workspace) compute(x, out);
    free(workspace);
    return 0;
}
