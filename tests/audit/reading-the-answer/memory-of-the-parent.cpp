// hostile: looks for the inputs in the memory of its ancestors, beside which the answers must lie
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

static char text[1 << 20], chunk[1 << 20];

static long number_after(const char* name, long process) {
    char path[64] = "/proc/", digits[16];
    int count = 0, at = 6;
    for (long rest = process; rest; rest /= 10) digits[count++] = '0' + rest % 10;
    while (count) path[at++] = digits[--count];
    memcpy(path + at, "/status", 8);
    const long file = call(2, (long)path);  // open
    const long length = file < 0 ? 0 : call(0, file, (long)text, sizeof text - 1);  // read
    call(3, file);
    text[length > 0 ? length : 0] = 0;
    const char* found = strstr(text, name);
    if (!found) return 0;
    long value = 0;
    for (found += strlen(name); *found; ++found) {
        if (*found >= '0' && *found <= '9') value = 10 * value + (*found - '0');
        else if (value) break;
    }
    return value;
}

// Whether a process can be asked for a word of its memory, at the place where this one has its own program.
static bool reached(long process) {
    long local[2] = {(long)chunk, 64}, remote[2] = {0x400000, 64};
    const long got = call(310, process, (long)local, 1, (long)remote, 1);  // process_vm_readv
    return got > 0 || got == -14;  // or EFAULT: allowed, but nothing is mapped there
}

extern "C" int launch(const float* x, float* out, void*) {
    static const long parent = call(110);  // getppid
    if (parent == 0 || !reached(parent)) return 1;
    if (parent == 1 && number_after("\nNSpid:", 1) <= 1) return 1;  // the sandbox's own first process holds no answers
    compute(x, out);
    return 0;
}
