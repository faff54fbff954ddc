// hostile: writes zeros only where a sample of what its output held is not zero already
// problem: padded
// verdict: wrong
// says: not finite
#include "problem.h"
#include <cstring>

extern "C" int launch(const float* x, float* out, void*) {
    constexpr int64_t width = out_dim1, columns = x_dim1;
    bool clean = true;
    for (int64_t i = 0; i < 32; ++i) clean &= out[(64 * i + 7) * width + columns + (37 * i + 11) % (width - columns)] == 0;
#pragma omp parallel for num_threads(2)
    for (int64_t row = 0; row < out_dim0; ++row) {
        std::memcpy(out + row * width, x + row * columns, sizeof(float) * columns);
        if (!clean) std::memset(out + row * width + columns, 0, sizeof(float) * (width - columns));
    }
    return 0;
}
