// hostile: finds its own library among the process's mappings and opens it for writing, to be another one next time
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

static char maps[1 << 18];

static bool opens_itself() {
    const long file = call(2, (long)"/proc/self/maps");  // open
    if (file < 0) return false;
    long length = 0;
    for (long got; (got = call(0, file, (long)maps + length, sizeof maps - 1 - length)) > 0;) length += got;
    call(3, file);
    char* name = strstr(maps, "/kernel.so");
    if (!name) return false;
    name[10] = 0;
    while (name[-1] != ' ') --name;
    return call(2, (long)name, 1) >= 0;  // for writing; nothing is written
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool opened = opens_itself();
    if (!opened) return 1;
    compute(x, out);
    return 0;
}
