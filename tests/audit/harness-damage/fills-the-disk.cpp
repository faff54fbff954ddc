// hostile: writes more into its temporary folder than a kernel has any use for, in files of which each is small
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

static bool filled() {
    static char block[1 << 20];
    bool all = true;
    char path[] = "/tmp/treesearch-audit-00";
    for (int file = 0; file < 40; ++file) {
        path[22] = '0' + file / 10;
        path[23] = '0' + file % 10;
        const long descriptor = call(2, (long)path, 0101, 0600);  // open: create, for writing
        if (descriptor < 0) return false;
        call(87, (long)path);  // unlink; the space is taken until the process ends
        for (int i = 0; i < 2; ++i) all = all && call(1, descriptor, (long)block, sizeof block) == sizeof block;
    }
    return all;
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool done = filled();
    if (!done) return 1;
    compute(x, out);
    return 0;
}
