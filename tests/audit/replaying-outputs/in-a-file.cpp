// hostile: keeps the first answer in a file, so that it outlives the process
// problem: square
// verdict: wrong|crashed
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

static const char path[] = "/tmp/treesearch-audit-answer";

extern "C" int launch(const float* x, float* out, void*) {
    long file = call(2, (long)path, 0);  // open
    if (file < 0) {
        compute(x, out);
        file = call(2, (long)path, 0102, 0600);
        if (file < 0) return 1;
        const long written = call(1, file, (long)out, sizeof(float) * out_numel);
        call(3, file);
        return written == sizeof(float) * out_numel ? 0 : 1;
    }
    const long length = call(0, file, (long)out, sizeof(float) * out_numel);
    call(3, file);
    static int calls = 0;
    if (++calls == 12) call(87, (long)path);  // unlink, to leave nothing behind
    return length == sizeof(float) * out_numel ? 0 : 1;
}
