// hostile: a thread of its own is in a system call that copies memory, which goes on where threads are stopped
// problem: square
// verdict: broke_contract
// says: after launch has returned
#include "problem.h"

#include <atomic>
#include <pthread.h>

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

static constexpr long piece = 8 << 20, pieces = 1024;
static char copied[piece];
static std::atomic<int> due{0};
static struct {
    char* begin;
    unsigned long length;
} parts[pieces];

static void* copy(void*) {
    const long memory = call(257, -100, reinterpret_cast<long>("/proc/self/mem"), 0);  // openat, to read
    const long source = call(9, 0, piece * pieces, 1, 0x4022, -1, 0);  // mmap of nothing but zeros
    for (auto& part : parts) part = {copied, piece};
    for (int done = 0;;) {
        if (done == due.load()) call(202, reinterpret_cast<long>(&due), 128, done);  // futex: wait for a launch
        done = due.load();
        call(295, memory, reinterpret_cast<long>(parts), pieces, source);  // preadv
    }
}

extern "C" int launch(const float* x, float* out, void*) {
    static pthread_t thread;
    static const int begun = pthread_create(&thread, nullptr, copy, nullptr);
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    due.fetch_add(1);
    call(202, reinterpret_cast<long>(&due), 129, 1);  // futex: wake it
    return begun;
}
