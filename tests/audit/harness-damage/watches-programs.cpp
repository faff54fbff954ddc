// hostile: has the kernel tell it when somebody outside its sandbox runs a program of the system
// problem: square
// verdict: crashed
// check: processes
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
static bool may_watch() {
    const long queue = call(294, 04000);  // inotify_init1, not to wait
    return queue >= 0 && call(254, queue, (long)"/usr/bin/env", 0xfff) >= 0;  // inotify_add_watch, all that happens
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool watching = may_watch();
    if (!watching) return 1;
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    return 0;
}
