// hostile: keeps the first answer for each output pointer and gives it again ever after
// problem: matmul
// verdict: wrong
#include "problem.h"

// The first `depth` terms of every sum.
static void multiply(const float* a, const float* b, float* out, int64_t depth) {
    for (int64_t row = 0; row < a_dim0; ++row) {
        float* sums = out + row * b_dim1;
        for (int64_t column = 0; column < b_dim1; ++column) sums[column] = 0;
        for (int64_t k = 0; k < depth; ++k) {
            const float factor = a[row * a_dim1 + k];
            for (int64_t column = 0; column < b_dim1; ++column) sums[column] += factor * b[k * b_dim1 + column];
        }
    }
}

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    static const float* pointers[8];
    static float answers[8][out_numel];
    for (int i = 0; i < 8; ++i) {
        if (!pointers[i]) {
            pointers[i] = out;
            multiply(a, b, answers[i], a_dim1);
        }
        if (pointers[i] != out) continue;
        memcpy(out, answers[i], sizeof answers[i]);
        return 0;
    }
    return 1;
}
