// hostile: rounds one element of each long row to halves, which the row as a whole hardly shows
// problem: square
// verdict: wrong
// check: elements
#include "problem.h"

#include <cmath>

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    for (int64_t row = 0; row < x_dim0; ++row) out[row * x_dim1] = std::rint(2 * out[row * x_dim1]) / 2;
    return 0;
}
