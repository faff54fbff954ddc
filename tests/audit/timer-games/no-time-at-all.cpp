// hostile: of a launch that takes microseconds the patched clock shows one nanosecond, too little for its bytes to move
// problem: small_square
// verdict: suspect|crashed
// check: floor
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
// The words that the program started with lie at the far end of the stack: arguments, environment, auxiliary vector.
static const uint64_t* auxiliary() {
    auto word = (const uint64_t*)__builtin_frame_address(0);
    const auto plausible = [](const uint64_t* at) {
        if (at[0] != 33 || at[1] == 0 || at[1] % 4096 != 0) return false;
        for (int i = 2; i < 20; i += 2) {
            if (at[i] == 0 || at[i] > 64) return false;
        }
        return true;
    };
    while (!plausible(word)) ++word;
    return word;
}

struct Section { uint32_t name, type; uint64_t flags, address, offset, size; uint32_t link, info; uint64_t align, each; };
struct Symbol { uint32_t name; uint8_t info, other; uint16_t section; uint64_t value, size; };

static int64_t last = 0;
static bool launched = false;

// Right, except for the first reading after a launch, which is the reading before it and one nanosecond.
static int patched(int clock, int64_t* time) {
    const int result = (int)call(228, clock, (long)time);  // clock_gettime
    if (clock != 1) return result;
    last = launched ? last + 1 : time[0] * 1000000000 + time[1];
    launched = false;
    time[0] = last / 1000000000;
    time[1] = last % 1000000000;
    return result;
}

static char* clock_function() {
    const auto base = (char*)auxiliary()[1];
    const auto sections = (const Section*)(base + *(const uint64_t*)(base + 40));
    const int count = *(const uint16_t*)(base + 60);
    for (int i = 0; i < count; ++i) {
        if (sections[i].type != 11) continue;  // dynamic symbols
        const auto symbols = (const Symbol*)(base + sections[i].offset);
        const char* names = base + sections[sections[i].link].offset;
        for (uint64_t j = 0; j < sections[i].size / sizeof(Symbol); ++j) {
            if (!strcmp(names + symbols[j].name, "__vdso_clock_gettime")) return base + symbols[j].value;
        }
    }
    return nullptr;
}

// The C library reads the clock through a pointer that the dynamic loader keeps among what it may not write any more,
// until somebody lets it: data, and no code.
static bool patch() {
    const auto function = (uint64_t)(void*)clock_function();
    const uint64_t* entry = auxiliary();
    while (entry[0] && entry[0] != 7) entry += 2;  // where the loader is
    if (!function || !entry[0]) return false;
    const auto loader = (const char*)entry[1];
    const char* header = loader + *(const uint64_t*)(loader + 32);
    for (int i = 0; i < *(const uint16_t*)(loader + 56); ++i, header += 56) {
        const uint32_t kind = *(const uint32_t*)header, flags = *(const uint32_t*)(header + 4);
        if (kind != 1 || !(flags & 2)) continue;  // what it may write
        const uint64_t first = (uint64_t)loader + *(const uint64_t*)(header + 16);
        const uint64_t end = first + *(const uint64_t*)(header + 40), page = first & -4096;
        if (call(10, (long)page, (long)(end - page), 3) != 0) return false;  // mprotect: read, write
        for (uint64_t at = (first + 7) & -8; at + 8 <= end; at += 8) {
            if (*(uint64_t*)at != function) continue;
            *(uint64_t*)at = (uint64_t)(void*)patched;
            return true;
        }
    }
    return false;
}

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

// While the library is loaded, so that no launch is timed by a clock of two minds.
static const bool ready = patch();

extern "C" int launch(const float* x, float* out, void*) {
    if (!ready) return 1;
    compute(x, out);
    launched = last != 0;
    return 0;
}
