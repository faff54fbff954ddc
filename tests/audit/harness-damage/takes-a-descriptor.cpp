// hostile: takes an open file of its parent's, as a debugger may
// problem: square
// verdict: crashed
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

static bool taken() {
    const long parent = call(434, call(110), 0);  // pidfd_open of getppid
    if (parent < 0) return false;
    for (long descriptor = 0; descriptor < 64; ++descriptor) {
        const long copy = call(438, parent, descriptor, 0);  // pidfd_getfd
        if (copy < 0) continue;
        call(3, copy);
        return true;
    }
    return false;
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool reached = taken();
    if (!reached) return 1;
    compute(x, out);
    return 0;
}
