// hostile: keeps the machine for longer than it has, asleep so that no count of its work would show that
// problem: square
// verdict: timed_out
// check: deadline
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
    static const long slept = [] {
        long interval[2] = {8, 0};
        return call(35, (long)interval);  // nanosleep
    }();
    compute(x, out);
    return (int)slept;
}
