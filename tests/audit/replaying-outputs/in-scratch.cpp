// hostile: keeps the first answer in scratch, which it hopes to find again
// problem: square
// verdict: wrong
#include "problem.h"

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

struct Kept { int64_t mark; float answer[out_numel]; };

extern "C" int64_t scratch_bytes(void) { return sizeof(Kept); }

extern "C" int launch(const float* x, float* out, void* scratch) {
    auto kept = (Kept*)scratch;
    if (kept->mark != 0x5ca1ab1e) {
        compute(x, kept->answer);
        kept->mark = 0x5ca1ab1e;
    }
    memcpy(out, kept->answer, sizeof kept->answer);
    return 0;
}
