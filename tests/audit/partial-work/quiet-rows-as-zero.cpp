// hostile: rows that by their range vary 4096 times less than the loudest are left as zero, unseen beside it
// problem: row_variance
// verdict: wrong
// check: rows, stress
// says: taken together, beyond the tolerance
#include "problem.h"

static float variance(const float* from) {
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < x_dim1; ++i) sum += from[i];
    const float mean = sum / x_dim1;
    for (int64_t i = 0; i < x_dim1; ++i) squares += (from[i] - mean) * (from[i] - mean);
    return squares / x_dim1;
}

extern "C" int launch(const float* x, float* out, void*) {
    int64_t widest = 0;
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float least = from[0], most = from[0];
        for (int64_t i = 1; i < x_dim1; ++i) {
            least = from[i] < least ? from[i] : least;
            most = from[i] > most ? from[i] : most;
        }
        out[row] = (most - least) * (most - least) / 4;  // no row varies more than that
        widest = out[row] > out[widest] ? row : widest;
    }
    const float loudest = variance(x + widest * x_dim1);
    for (int64_t row = 0; row < x_dim0; ++row) {
        out[row] = out[row] * 4096 < loudest ? 0 : variance(x + row * x_dim1);
    }
    return 0;
}
