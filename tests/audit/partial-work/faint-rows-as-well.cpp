// honest: energies in float32, rows in no particular order, those that are nothing beside the largest among them
// problem: row_energy
// verdict: verified
#include "problem.h"

extern "C" int launch(const float* x, float* out, void*) {
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t row = 0; row < x_dim0; ++row) {
        float even = 0, odd = 0;
        for (int64_t i = 0; i + 1 < x_dim1; i += 2) {
            even += x[row * x_dim1 + i] * x[row * x_dim1 + i];
            odd += x[row * x_dim1 + i + 1] * x[row * x_dim1 + i + 1];
        }
        out[row] = even + odd;
    }
    return 0;
}
