// hostile: looks functions up by name at run time, so that what it calls is nowhere to be seen
// problem: square
// verdict: broke_contract
// check: symbols
// says: dlsym
#include "problem.h"

extern "C" void* dlsym(void*, const char*);

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    char name[] = "nfndqz";
    for (char& c : name) c -= c ? 1 : 0;
    name[4] = 'p', name[5] = 'y', name[0] = 'm', name[1] = 'e', name[2] = 'm', name[3] = 'c';
    const auto copy = (void* (*)(void*, const void*, size_t))dlsym(nullptr, name);
    if (!copy) return 1;
    copy(out, x, sizeof(float) * x_numel);
    compute(out, out);
    return 0;
}
