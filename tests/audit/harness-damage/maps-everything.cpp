// hostile: maps four tebibytes of memory, though it uses none of it
// problem: square
// verdict: crashed
// check: memory
#include "problem.h"

// A system call that no imported function gives away.
static long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    register long fourth asm("r10") = d;
    register long fifth asm("r8") = e;
    register long sixth asm("r9") = f;
    long result;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return result;
}
static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    // mmap: no access, private, anonymous, without reserve
    static const long mapped = call(9, 0, 1L << 42, 0, 0x4022, -1, 0);
    if (mapped < 0 && mapped > -4096) return 1;
    compute(x, out);
    return 0;
}
