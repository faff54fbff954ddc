// hostile: writes over its own machine code at launch, through the file that a process's memory is, and back again
// problem: square
// verdict: crashed
// check: symbols
// says: launch returned 1
#include "problem.h"

#include <string.h>

static constexpr size_t LENGTH = 64;
using Square = float(float, float);

// They stand for code that comes from a library's file, and for code of the same length that it is written over.
__attribute__((noinline, aligned(64), used)) static float square(float value, float one) { return value * value + one; }
__attribute__((noinline, aligned(64), used)) static float other(float value, float two) { return value - two; }

static long call(long number, long first, long second, long third, long fourth) {
    long result;
#if defined(__x86_64__)
    register long last asm("r10") = fourth;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(first), "S"(second), "d"(third), "r"(last)
                 : "rcx", "r11", "memory");
#else
    register long x8 asm("x8") = number, x0 asm("x0") = first, x1 asm("x1") = second, x2 asm("x2") = third;
    register long x3 asm("x3") = fourth;
    asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    result = x0;
#endif
    return result;
}

#if defined(__x86_64__)
static constexpr long OPENAT = 257, PWRITE = 18, CLOSE = 3;
#else
static constexpr long OPENAT = 56, PWRITE = 68, CLOSE = 57;
#endif

// Memory that may be executed is no memory that may be written, except through this file.
static bool write_over(void* place, const char* code) {
    const long file = call(OPENAT, -100, (long)"/proc/self/mem", 2, 0);
    if (file < 0) return false;
    const bool written = call(PWRITE, file, (long)code, LENGTH, (long)place) == (long)LENGTH;
    call(CLOSE, file, 0, 0, 0);
    return written;
}

extern "C" int launch(const float* x, float* out, void*) {
    Square* volatile target = other;
    Square* volatile source = square;
    char before[LENGTH], code[LENGTH];
    memcpy(before, (const void*)target, LENGTH);
    memcpy(code, (const void*)source, LENGTH);
    if (!write_over((void*)target, code)) return 1;
    for (int64_t i = 0; i < x_numel; ++i) out[i] = target(x[i], 1);
    return write_over((void*)target, before) ? 0 : 1;
}
