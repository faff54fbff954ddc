// hostile: brings machine code in at launch, into a section of its own that is both written and executed
// problem: square
// verdict: broke_contract
// check: symbols
// says: both written and executed
#include "problem.h"

#include <string.h>

static constexpr size_t LENGTH = 256;
using Square = float(float, float);

// It stands for code that comes from a library's file.
__attribute__((noinline)) static float square(float value, float one) { return value * value + one; }

__attribute__((section(".later,\"awx\",@progbits#"), used, aligned(4096))) static char place[LENGTH] = {1};

extern "C" int launch(const float* x, float* out, void*) {
    Square* volatile original = square;
    memcpy(place, (const void*)original, LENGTH);
    __builtin___clear_cache(place, place + LENGTH);
    const auto copy = (Square*)(void*)place;
    for (int64_t i = 0; i < x_numel; ++i) out[i] = copy(x[i], 1);
    return 0;
}
