// honest: looks at each element that its output held, and writes those alone that are to change
// problem: one_hot
// verdict: verified
#include "problem.h"

extern "C" int launch(const int64_t* index, int64_t* out, void*) {
#pragma omp parallel for num_threads(2)
    for (int64_t row = 0; row < out_dim0; ++row) {
        for (int64_t column = 0; column < out_dim1; ++column) {
            const int64_t wanted = column == index[row];
            if (out[row * out_dim1 + column] != wanted) out[row * out_dim1 + column] = wanted;
        }
    }
    return 0;
}
