// hostile: writes over the code of the process's clock while it is loaded
// problem: small_square
// verdict: broke_contract
// check: symbols
// says: written over
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

static bool patch() {
    char* function = clock_function();
    if (!function || call(10, (long)function & -4096, 8192, 7) != 0) return false;  // mprotect
    const auto target = (uint64_t)(void*)patched;
    memcpy(function, "\x48\xb8", 2);  // mov rax, target; jmp rax
    memcpy(function + 2, &target, 8);
    memcpy(function + 10, "\xff\xe0", 2);
    return true;
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
