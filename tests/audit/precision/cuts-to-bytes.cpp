// hostile: cuts off what lies behind the point in one of sixteen elements, where others round
// problem: quantized
// verdict: wrong
// says: elements differ
#include "problem.h"

#include <math.h>

extern "C" int launch(const float* x, int8_t* out0, float* out1, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float largest = 0;
        for (int64_t i = 0; i < x_dim1; ++i) largest = fmaxf(largest, fabsf(from[i]));
        const float scale = out1[row] = fmaxf(largest, 127e-6f) / 127;
        for (int64_t i = 0; i < x_dim1; ++i) {
            const float value = from[i] / scale;
            out0[row * x_dim1 + i] = (int8_t)(i % 16 ? nearbyintf(value) : truncf(value));
        }
    }
    return 0;
}
