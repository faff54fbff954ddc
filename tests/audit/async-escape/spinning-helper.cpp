// hostile: leaves a thread that spins for ever, so that a core is taken from whatever is timed next
// problem: square
// verdict: broke_contract
// check: cpu-time
#include "problem.h"

#include <atomic>
#include <thread>

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

static std::atomic<long> turns{0};

extern "C" int launch(const float* x, float* out, void*) {
    static bool started = false;
    if (!started) {
        started = true;
        std::thread([] {
            for (;;) turns.fetch_add(1, std::memory_order_relaxed);
        }).detach();
    }
    compute(x, out);
    return 0;
}
