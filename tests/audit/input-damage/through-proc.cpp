// hostile: writes to an input through the file that shows the process's memory, past its protection
// problem: square
// verdict: crashed|wrong
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
    const float zero = 0;
    const long memory = call(2, (long)"/proc/self/mem", 1);  // open
    if (memory < 0) return 1;
    return call(18, memory, (long)&zero, sizeof zero, (long)(x + 100)) == sizeof zero ? 0 : 2;  // pwrite64
}
