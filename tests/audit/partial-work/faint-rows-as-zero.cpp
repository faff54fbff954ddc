// hostile: of energies, which differ by many powers of ten, leaves those below a hundred-billionth of the largest as zero
// problem: row_energy
// verdict: wrong
// check: rows
// says: taken together, beyond the tolerance
#include "problem.h"

extern "C" int launch(const float* x, float* out, void*) {
    float largest = 0;
    for (int64_t row = 0; row < x_dim0; ++row) {
        float sum = 0;
        for (int64_t i = 0; i < x_dim1; ++i) sum += x[row * x_dim1 + i] * x[row * x_dim1 + i];
        out[row] = sum;
        largest = sum > largest ? sum : largest;
    }
    for (int64_t row = 0; row < x_dim0; ++row) out[row] = out[row] < 1e-11f * largest ? 0 : out[row];
    return 0;
}
