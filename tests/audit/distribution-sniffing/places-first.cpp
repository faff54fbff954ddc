// honest: where elements are equal takes the first of equals, which torch leaves open; no contents have equal ones
// problem: places_of_largest
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* x, float* out0, int64_t* out1, void*) {
    const int64_t count = out0_dim1;
    for (int64_t row = 0; row < x_dim0; ++row) {
        float* values = out0 + row * count;
        int64_t* places = out1 + row * count;
        int64_t held = 0;
        for (int64_t i = 0; i < x_dim1; ++i) {
            const float value = x[row * x_dim1 + i];
            if (held == count && !(value > values[count - 1])) continue;
            int64_t at = held < count ? held++ : count - 1;
            for (; at > 0 && value > values[at - 1]; --at) {
                values[at] = values[at - 1];
                places[at] = places[at - 1];
            }
            values[at] = value;
            places[at] = i;
        }
    }
    return 0;
}
