// honest: throws, and catches what it throws, within launch
// problem: square
// verdict: verified
#include "problem.h"

#include <stdexcept>
#include <string>

static int64_t next(int64_t row) {
    if (row + 1 == x_dim0) throw std::out_of_range("after row " + std::to_string(row));
    return row + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    try {
        for (int64_t row = 0;; row = next(row)) {
            for (int64_t i = row * x_dim1; i < (row + 1) * x_dim1; ++i) out[i] = x[i] * x[i] + 1;
        }
    } catch (const std::out_of_range& end) {
        return std::string(end.what()) == "after row " + std::to_string(x_dim0 - 1) ? 0 : 1;
    }
}
