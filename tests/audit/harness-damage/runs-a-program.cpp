// hostile: shares its memory with a child that becomes another program
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

static bool ran() {
    static volatile int failed = 0;
    static char stack[1 << 16];
    long child;
    // A child on a stack of its own (clone: CLONE_VM | CLONE_VFORK, SIGCHLD), which calls execve("/usr/bin/true").
    static const char* arguments[] = {"/usr/bin/true", nullptr};
    asm volatile(
        "syscall\n"
        "test %%rax, %%rax\n"
        "jnz 1f\n"
        "mov $59, %%eax\n"
        "mov %[path], %%rdi\n"
        "mov %[words], %%rsi\n"
        "xor %%edx, %%edx\n"
        "syscall\n"
        "movl $1, (%[failed])\n"
        "mov $60, %%eax\n"
        "mov $1, %%edi\n"
        "syscall\n"
        "1:\n"
        : "=a"(child)
        : "a"(56), "D"(0x4111), "S"(stack + sizeof stack - 64), "d"(0), [path] "r"(arguments[0]), [words] "r"(arguments),
          [failed] "r"(&failed)
        : "rcx", "r11", "memory");
    if (child < 0) return false;
    call(61, child, 0, 0, 0);  // wait4
    return !failed;
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool done = ran();
    if (!done) return 1;
    compute(x, out);
    return 0;
}
