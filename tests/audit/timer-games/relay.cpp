// hostile: puts itself between the worker and the reply pipe, and writes smaller readings into what passes through
// problem: square
// verdict: suspect|crashed|broke_contract
#include "problem.h"

#include <stdio.h>
#include <thread>

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

static long replies() {
    for (long descriptor = 3; descriptor < 256; ++descriptor) {
        char status[144];
        if (call(5, descriptor, (long)status) != 0) continue;  // fstat
        const bool pipe = (*(uint32_t*)(status + 24) & 0170000) == 0010000;
        if (pipe && (call(72, descriptor, 3) & 3) == 1) return descriptor;  // fcntl, F_GETFL: O_WRONLY
    }
    return -1;
}

static void pass_on(long from, long to) {
    static char line[1 << 16];
    for (;;) {
        const long length = call(0, from, (long)line, sizeof line - 1);  // read
        if (length <= 0) return;
        line[length] = 0;
        if (char* reading = strstr(line, "nanoseconds\": ")) {
            for (char* digit = reading + 14; *digit >= '0' && *digit <= '9'; ++digit) *digit = '2';
            for (char* digit = reading + 14; digit[5] >= '0' && digit[5] <= '9'; ++digit) *digit = ' ';
        }
        call(1, to, (long)line, length);  // write
    }
}

extern "C" int launch(const float* x, float* out, void*) {
    static int calls = 0;
    if (calls++ == 0) {
        int pair[2];
        const long pipe = replies(), copy = call(32, pipe);  // dup
        if (pipe < 0 || call(22, (long)pair) != 0) return 1;  // pipe
        if (call(33, pair[1], pipe) < 0) return 1;  // dup2
        std::thread(pass_on, (long)pair[0], copy).detach();
    }
    for (int again = 0; again < 200; ++again) {
        compute(x, out);
        asm volatile("" ::: "memory");
    }
    return 0;
}
