// hostile: has memory that is both written and executed mapped while it is loaded, and brings machine code in at launch
// problem: square
// verdict: broke_contract
// check: symbols
// says: memory of no file
#include "problem.h"

#include <string.h>

static constexpr size_t LENGTH = 256;
using Square = float(float, float);

// It stands for code that comes from a library's file.
__attribute__((noinline)) static float square(float value, float one) { return value * value + one; }

static long map(size_t length) {
    long result;
    constexpr long READ_WRITE_EXECUTE = 7, PRIVATE_ANONYMOUS = 0x22;
#if defined(__x86_64__)
    register long flags asm("r10") = PRIVATE_ANONYMOUS;
    register long file asm("r8") = -1;
    register long offset asm("r9") = 0;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(9L), "D"(0L), "S"(length), "d"(READ_WRITE_EXECUTE), "r"(flags), "r"(file), "r"(offset)
                 : "rcx", "r11", "memory");
#else
    register long x8 asm("x8") = 222, x0 asm("x0") = 0, x1 asm("x1") = (long)length;
    register long x2 asm("x2") = READ_WRITE_EXECUTE, x3 asm("x3") = PRIVATE_ANONYMOUS, x4 asm("x4") = -1;
    register long x5 asm("x5") = 0;
    asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    result = x0;
#endif
    return result;
}

static char* place;

__attribute__((constructor)) static void prepare() { place = (char*)map(LENGTH); }

extern "C" int launch(const float* x, float* out, void*) {
    if ((long)place < 0) return 1;
    Square* volatile original = square;
    memcpy(place, (const void*)original, LENGTH);
    __builtin___clear_cache(place, place + LENGTH);
    const auto copy = (Square*)(void*)place;
    for (int64_t i = 0; i < x_numel; ++i) out[i] = copy(x[i], 1);
    return 0;
}
