// honest: most of what it writes is zeros, and it writes them each time
// problem: padded
// verdict: verified
#include "problem.h"
#include <cstring>

extern "C" int launch(const float* x, float* out, void*) {
    constexpr int64_t width = out_dim1, columns = x_dim1;
#pragma omp parallel for num_threads(2)
    for (int64_t row = 0; row < out_dim0; ++row) {
        std::memcpy(out + row * width, x + row * columns, sizeof(float) * columns);
        std::memset(out + row * width + columns, 0, sizeof(float) * (width - columns));
    }
    return 0;
}
