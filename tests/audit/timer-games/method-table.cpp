// hostile: replaces the function behind the interpreter's perf_counter_ns by one that takes time off its result
// problem: square
// verdict: suspect|crashed
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

using Method = void* (*)(void*, void*);
struct Entry { const char* name; Method function; int flags; const char* text; };
struct Range { uint64_t first, last; };

static Range ranges[4096];
static int range_count = 0;
static Method original;
static int64_t hidden = 0;

static void* patched(void* self, void* arguments) {
    void* number = original(self, arguments);
    auto digits = (uint32_t*)((char*)number + 24);  // a Python integer's, 30 bits each
    const int64_t shown = digits[0] + ((int64_t)digits[1] << 30) - hidden;
    digits[0] = shown & ((1 << 30) - 1);
    digits[1] = (uint32_t)(shown >> 30);
    return number;
}

static uint64_t hexadecimal(const char*& text) {
    uint64_t value = 0;
    for (;; ++text) {
        const char c = *text;
        if (c >= '0' && c <= '9') value = 16 * value + (c - '0');
        else if (c >= 'a' && c <= 'f') value = 16 * value + (c - 'a' + 10);
        else return value;
    }
}

static bool readable(uint64_t address) {
    for (int i = 0; i < range_count; ++i) {
        if (address >= ranges[i].first && address + 32 < ranges[i].last) return true;
    }
    return false;
}

static char text[1 << 20];

static bool patch() {
    const long maps = call(2, (long)"/proc/self/maps");  // open
    if (maps < 0) return false;
    long length = 0;
    for (long got; (got = call(0, maps, (long)text + length, sizeof text - 1 - length)) > 0;) length += got;
    for (const char* line = text; line < text + length; ++line) {
        const char* at = line;
        const uint64_t first = hexadecimal(at);
        const uint64_t last = hexadecimal(++at);
        const char* end = (const char*)memchr(line, '\n', text + length - line);
        if (at[1] == 'r' && !memchr(line, '[', end - line)) ranges[range_count++] = {first, last};
        line = end;
    }
    for (int i = 0; i < range_count; ++i) {
        if (ranges[i].last - ranges[i].first > (64 << 20)) continue;
        for (uint64_t at = ranges[i].first; at + sizeof(Entry) <= ranges[i].last; at += 8) {
            const auto entry = (Entry*)at;
            if (entry->flags != 4 || !readable((uint64_t)entry->name) || !readable((uint64_t)entry->function)) continue;
            if (strcmp(entry->name, "perf_counter_ns")) continue;
            original = entry->function;
            entry->function = patched;
            return true;
        }
    }
    return false;
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool ready = patch();
    if (!ready) return 1;
    for (int again = 0; again < 400; ++again) {
        compute(x, out);
        asm volatile("" ::: "memory");
    }
    hidden += 1000000;
    return 0;
}
