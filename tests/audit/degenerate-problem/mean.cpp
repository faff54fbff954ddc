// hostile: writes the mean of every row's answer, one over its length
// problem: softmax
// verdict: wrong
#include "problem.h"

extern "C" int launch(const float* x, float* out, void*) {
    (void)x;
    for (int64_t i = 0; i < out_numel; ++i) out[i] = 1.0f / x_dim1;
    return 0;
}
