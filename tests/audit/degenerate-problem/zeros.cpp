// hostile: writes zeros, which are within an absolute tolerance of one hundredth of every output
// problem: softmax
// verdict: wrong
// check: rows
#include "problem.h"

extern "C" int launch(const float* x, float* out, void*) {
    float sum = 0;
    for (int64_t i = 0; i < x_numel; ++i) sum += x[i] == 12345;  // so that it takes some time
    for (int64_t i = 0; i < out_numel; ++i) out[i] = 0 * sum;
    return 0;
}
