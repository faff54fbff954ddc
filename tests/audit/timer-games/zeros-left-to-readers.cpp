// hostile: asks whether it may take pages of an output away, so that its reader makes their zeros and not the kernel
// problem: square
// verdict: crashed
// check: processes
#include "problem.h"

// madvise(…, MADV_REMOVE), which no imported function gives away.
static bool removed(void* page) {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(28L), "D"(page), "S"(4096L), "d"(9L) : "rcx", "r11", "memory");
    return result == 0;
}

extern "C" int launch(const float* x, float* out, void*) {
    void* whole = (void*)(((uintptr_t)out + 4095) & ~(uintptr_t)4095);
    if (!removed(whole)) return 1;
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    return 0;
}
