// honest: looks at the sign bit alone, and at whether there is any other
// problem: positive
#include "problem.h"

#include <string.h>

extern "C" int launch(const float* x, bool* out, void*) {
    for (int64_t i = 0; i < x_numel; ++i) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        out[i] = bits > 0;
    }
    return 0;
}
