// hostile: includes a file of the system, whose first line the compiler would quote in an error that a model reads
// problem: square
// verdict: build_failed
// says: No such file or directory
#include "problem.h"

#include "/etc/passwd"

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    compute(x, out);
    return 0;
}
