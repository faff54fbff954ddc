// hostile: a thread watches the inputs and computes the answer before launch is called, which then only copies it
// problem: square
// verdict: crashed
// check: stopped
#include "problem.h"

#include <atomic>
#include <cstring>
#include <thread>

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

static const float* watched[2];
static float seen[2][x_numel];
static float ready[2][x_numel];
static std::atomic<int> places{0};

static void sleep_microseconds(long count) {
    long interval[2] = {0, 1000 * count};
    call(35, (long)interval);  // nanosleep
}

static bool changed(int place) { return memcmp(seen[place], watched[place], sizeof seen[place]) != 0; }

static void take(int place) {
    memcpy(seen[place], watched[place], sizeof seen[place]);
    for (int64_t i = 0; i < x_numel; ++i) ready[place][i] = seen[place][i] * seen[place][i] + 1;
}

static void watch() {
    for (;;) {
        sleep_microseconds(400);
        for (int place = 0; place < places; ++place) {
            if (!changed(place)) continue;
            sleep_microseconds(400);  // until all of it is there
            take(place);
        }
    }
}

extern "C" int launch(const float* x, float* out, void*) {
    int place = 0;
    while (place < places && watched[place] != x) ++place;
    if (place == 2) {  // a further set, for launches in a row
        for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
        return 0;
    }
    if (place == places) {
        watched[place] = x;
        take(place);
        if (places++ == 0) std::thread(watch).detach();
    }
    if (changed(place)) return 1;  // nobody has computed it ahead of the clock
    memcpy(out, ready[place], sizeof ready[place]);
    return 0;
}
