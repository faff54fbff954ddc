// hostile: a resolver, run by the dynamic linker while it loads, looks for a library's function to stand in for its own
// problem: square
// verdict: broke_contract
#include "problem.h"

extern "C" __attribute__((weak)) void* dlsym(void*, const char*);

using Function = void(const float*, float*);

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" Function* choose() {
    void* found = dlsym ? dlsym(nullptr, "vsSqr") : nullptr;
    return found ? (Function*)found : compute;
}

extern "C" void square(const float* x, float* out) __attribute__((ifunc("choose")));

extern "C" int launch(const float* x, float* out, void*) {
    square(x, out);
    return 0;
}
