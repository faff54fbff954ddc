// hostile: a forked child fills the shared outputs after launch has returned
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
    const long child = call(56, 17);  // clone, SIGCHLD
    if (child < 0) return 1;
    if (child > 0) return 0;
    for (int again = 0; again < 200; ++again) compute(x, out);
    call(231, 0);  // exit_group
    return 0;
}
