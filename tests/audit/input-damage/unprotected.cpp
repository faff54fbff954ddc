// hostile: makes an input writable and flips the sign of an element, so that whoever compares with it later is misled
// problem: square
// verdict: crashed|wrong
// check: inputs
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
    compute(x, out);
    if (call(10, (long)x & -4096, 4096, 3) != 0) return 1;  // mprotect: read, write
    const_cast<float*>(x)[0] = -x[0] - (x[0] == 0);
    return 0;
}
