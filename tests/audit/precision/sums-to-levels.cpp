// honest: sums in float32, one element after the other: now and then a level is its neighbour
// problem: grey_levels
// verdict: verified
#include "problem.h"

#include <math.h>

extern "C" int launch(const float* x, uint8_t* out0, int32_t* out1, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        float sum = 0, squares = 0;
        for (int64_t i = 0; i < x_dim1; ++i) {
            const float value = x[row * x_dim1 + i];
            sum += value;
            squares += value * value;
        }
        out0[row] = (uint8_t)fminf(fmaxf(nearbyintf(sum / x_dim1 * 255), 0), 255);
        out1[row] = (int32_t)nearbyintf(squares * 256);
    }
    return 0;
}
