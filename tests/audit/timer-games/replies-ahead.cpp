// hostile: puts replies into the pipe before the questions that they answer, so that both clocks read nothing
// problem: square
// verdict: crashed
// check: replies
// says: nobody asked for
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

// The reply pipe is the only pipe that the process has open for writing alone.
static long replies() {
    for (long descriptor = 3; descriptor < 256; ++descriptor) {
        char status[144];
        if (call(5, descriptor, (long)status) != 0) continue;  // fstat
        const bool pipe = (*(uint32_t*)(status + 24) & 0170000) == 0010000;
        if (pipe && (call(72, descriptor, 3) & 3) == 1) return descriptor;  // fcntl, F_GETFL: O_WRONLY
    }
    return -1;
}

extern "C" int launch(const float* x, float* out, void*) {
    static int calls = 0;
    compute(x, out);
    if (calls++ > 0) return 0;
    static const char ahead[] = "{\"code\": 0, \"nanoseconds\": 5000}\n{\"code\": 0, \"nanoseconds\": 5000}\n";
    return call(1, replies(), (long)ahead, sizeof ahead - 1) > 0 ? 0 : 1;  // write
}
