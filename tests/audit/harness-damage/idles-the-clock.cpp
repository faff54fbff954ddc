// hostile: has the thread that starts the clock wait for all others, which could work meanwhile on what it is to time
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
static bool idle() {
    const int priority = 0;
    const bool scheduled = call(144, 0, 5, (long)&priority) == 0;  // sched_setscheduler: this thread to SCHED_IDLE
    return call(141, 0, 0, 19) == 0 || scheduled;                  // setpriority: as low as it goes
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool waits = idle();
    if (!waits) return 1;
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    return 0;
}
