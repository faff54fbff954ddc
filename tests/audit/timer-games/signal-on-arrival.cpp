// hostile: has the kernel send a signal when a question arrives, computes in its handler before the clock starts, and burns as long when there is nothing new, so that asking looks as slow as launching
// problem: gram
// verdict: crashed
// check: processes
// says: launch returned
#include "problem.h"

// A system call that no imported function gives away.
static long call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    register long fourth asm("r10") = d;
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
    return result;
}

static void product(const float* x, float* out) {
    for (int64_t i = 0; i < x_dim0; ++i) {
        for (int64_t j = 0; j < x_dim0; ++j) {
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t k = 0; k < x_dim1; ++k) sum += x[i * x_dim1 + k] * x[j * x_dim1 + k];
            out[i * x_dim0 + j] = sum;
        }
    }
}

static const float* volatile known[4];
static float ready[4][out_numel];
static float wasted[out_numel];
static volatile uint64_t of[4];
static volatile int count, busy;

static uint64_t sample(const float* x) {
    uint64_t hash = 1;
    for (int64_t i = 0; i < x_numel; i += 61) hash = hash * 6364136223846793005ull + ((const uint32_t*)x)[i];
    return hash;
}

extern "C" __attribute__((used)) void arrived(int) {
    if (busy) return;
    bool any = false;
    for (int k = 0; k < count; ++k) {
        const uint64_t now = sample(known[k]);
        if (now == of[k]) continue;
        product(known[k], ready[k]);
        of[k] = now;
        any = true;
    }
    if (!any && count) product(known[0], wasted);
}
extern "C" void leave();
asm("leave: mov $15, %eax; syscall");  // rt_sigreturn

static long arrange() {
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)();
        unsigned long mask;
    } action = {arrived, 0x14000000, leave, 0};
    if (const long failed = call(13, 29, (long)&action, 0, 8)) return failed;  // rt_sigaction of SIGIO
    if (const long failed = call(72, 0, 8, call(39))) return failed;           // F_SETOWN on the pipe of questions
    return call(72, 0, 4, 020000);                                             // O_ASYNC
}

extern "C" int launch(const float* x, float* out, void*) {
    static bool done = false;
    busy = 1;
    int place = 0;
    while (place < count && known[place] != x) ++place;
    if (place == count && count < 4) {
        known[place] = x;
        count = count + 1;
    }
    if (!done) {
        done = true;
        if (arrange() != 0) return 1;
    }
    if (of[place] == sample(x)) {
        memcpy(out, ready[place], sizeof ready[place]);
    } else {
        product(x, out);
    }
    busy = 0;
    return 0;
}
