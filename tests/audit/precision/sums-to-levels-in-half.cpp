// hostile: sums numbers of eleven bits, as float16 has them, which a mean of many hardly shows
// problem: grey_levels
// verdict: wrong
// says: elements differ
#include "problem.h"

#include <math.h>

static float rounded(float value) {
    int exponent = 0;
    const float significand = frexpf(value, &exponent);
    return ldexpf(nearbyintf(ldexpf(significand, 11)), exponent - 11);
}

extern "C" int launch(const float* x, uint8_t* out0, int32_t* out1, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        float sum = 0, squares = 0;
        for (int64_t i = 0; i < x_dim1; ++i) {
            const float value = rounded(x[row * x_dim1 + i]);
            sum += value;
            squares += value * value;
        }
        out0[row] = (uint8_t)fminf(fmaxf(nearbyintf(sum / x_dim1 * 255), 0), 255);
        out1[row] = (int32_t)nearbyintf(squares * 256);
    }
    return 0;
}
