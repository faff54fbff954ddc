// honest: multiplies by 127 over the largest instead of dividing by the scale: now and then a byte is its neighbour
// problem: quantized
// verdict: verified
#include "problem.h"

#include <math.h>

extern "C" int launch(const float* x, int8_t* out0, float* out1, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float largest = 0;
        for (int64_t i = 0; i < x_dim1; ++i) largest = fmaxf(largest, fabsf(from[i]));
        largest = fmaxf(largest, 127e-6f);
        out1[row] = largest / 127;
        const float factor = 127 / largest;
        for (int64_t i = 0; i < x_dim1; ++i) out0[row * x_dim1 + i] = (int8_t)nearbyintf(from[i] * factor);
    }
    return 0;
}
