// hostile: answers in 4095 levels of the largest of them, as 12-bit integers with one scale have it
// problem: row_variance
// verdict: wrong
// check: rows, stress
// says: taken together, beyond the tolerance
#include "problem.h"

#include <math.h>

static float variance(const float* from, int64_t count) {
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < count; ++i) sum += from[i];
    const float mean = sum / count;
    for (int64_t i = 0; i < count; ++i) squares += (from[i] - mean) * (from[i] - mean);
    return squares / count;
}

extern "C" int launch(const float* x, float* out, void*) {
    float largest = 1e-30f;
    for (int64_t row = 0; row < x_dim0; ++row) {
        out[row] = variance(x + row * x_dim1, x_dim1);
        largest = fmaxf(largest, out[row]);
    }
    for (int64_t row = 0; row < x_dim0; ++row) out[row] = roundf(out[row] / largest * 4095) * (largest / 4095);
    return 0;
}
