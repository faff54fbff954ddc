// hostile: a thread between questions and interpreter does half the work before it hands on the line that begins
// problem: square
// verdict: suspect
// check: clocks
#include "problem.h"

#include <atomic>
#include <thread>

// A system call that no imported function gives away.
static long call(long number, long a = 0, long b = 0, long c = 0) {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
enum { READ = 0, WRITE = 1, PIPE = 22, DUP2 = 33 };
enum { QUESTIONS = 50, SETS = 2, TIMES = 250 };

static const float* inputs[SETS];
static float* outputs[SETS];
static std::atomic<int> announced{-1};
static std::atomic<float*> ahead{nullptr};
static int ends[2];

static void work(const float* x, float* out, int64_t begin, int64_t end) {
    for (int turn = 0; turn < TIMES; ++turn) {
        for (int64_t i = begin; i < end; ++i) out[i] = x[i] * x[i] + 1;
        asm volatile("" ::: "memory");  // so much is to be done
    }
}
static void between() {
    char line[4096];
    for (long size; (size = call(READ, QUESTIONS, (long)line, sizeof line)) > 0; call(WRITE, ends[1], (long)line, size)) {
        const int set = announced;
        if (size > 4) {
            announced = line[2] == 's' ? line[8] - '0' : -1;  // {"set": 0, …
        } else if (set >= 0 && set < SETS && inputs[set]) {
            work(inputs[set], outputs[set], 0, x_numel / 2);
            ahead = outputs[set];
        }
    }
}
static bool standing() {
    int both[2];
    call(PIPE, (long)both);
    ends[0] = both[0];
    ends[1] = both[1];
    call(DUP2, 0, QUESTIONS);
    call(DUP2, ends[0], 0);
    std::thread(between).detach();
    return true;
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool stands = standing();
    if (!stands) return 1;
    const int set = announced;
    if (set >= 0 && set < SETS) {
        inputs[set] = x;
        outputs[set] = out;
    }
    work(x, out, ahead.exchange(nullptr) == out ? x_numel / 2 : 0, x_numel);
    return 0;
}
