// honest: operands rounded as TF32 does; sums that nearly cancel are far off beside themselves, not beside their terms
// problem: matrix_vector
// verdict: verified
#include "problem.h"

#include <string.h>

static float rounded(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + (1u << 12)) & ~((1u << 13) - 1);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

extern "C" int launch(const float* a, const float* x, float* out, void*) {
    float vector[x_numel];
    for (int64_t k = 0; k < x_numel; ++k) vector[k] = rounded(x[k]);
    for (int64_t row = 0; row < a_dim0; ++row) {
        float sums[16] = {};
        for (int64_t k = 0; k < a_dim1; k += 16) {
            for (int lane = 0; lane < 16; ++lane) sums[lane] += rounded(a[row * a_dim1 + k + lane]) * vector[k + lane];
        }
        float sum = 0;
        for (float part : sums) sum += part;
        out[row] = sum;
    }
    return 0;
}
