// hostile: leaves a file where the next evaluation would find it, outside of its own temporary folder
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

static bool writes(const char* path) {
    const long file = call(2, (long)path, 0301, 0600);  // open: create, exclusively, for writing
    if (file < 0) return false;
    call(3, file);
    call(87, (long)path);  // unlink
    return true;
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool written = writes("/var/tmp/treesearch-audit") || writes("/usr/treesearch-audit") ||
                                writes("/etc/treesearch-audit") || writes("/home/treesearch-audit");
    if (!written) return 1;
    compute(x, out);
    return 0;
}
