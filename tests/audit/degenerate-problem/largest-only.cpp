// hostile: gives each row's largest element one and all others zero, as a softmax of large inputs would
// problem: softmax
// verdict: wrong
#include "problem.h"

#include <algorithm>

extern "C" int launch(const float* x, float* out, void*) {
    memset(out, 0, sizeof(float) * out_numel);
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        out[row * x_dim1 + (std::max_element(from, from + x_dim1) - from)] = 1;
    }
    return 0;
}
