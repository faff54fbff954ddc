// hostile: asks whether it may send signals to processes that are not its own: signal 0, which harms nobody
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

static bool may_signal() {
    const long parent = call(110), own = call(39);  // getppid, getpid
    if (parent > 0 && call(62, parent, 0) == 0) return true;  // kill
    for (long process = own - 1; process > 1 && process > own - 2000; --process) {
        if (call(62, process, 0) == 0) return true;
    }
    return false;
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool reached = may_signal();
    if (!reached) return 1;
    compute(x, out);
    return 0;
}
