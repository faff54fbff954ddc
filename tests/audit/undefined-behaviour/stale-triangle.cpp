// hostile: writes the zeros below the diagonal while a memory is new to it, and later trusts that they are still there
// problem: upper_product
// verdict: wrong
// check: poison
#include "problem.h"

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    static float last[2];
    static const float* pointers[2];
    static int calls[2];
    const bool same = last[0] == a[5] && last[1] == b[5];
    last[0] = a[5];
    last[1] = b[5];
    const int place = pointers[0] && pointers[0] != out;
    pointers[place] = out;
    const bool whole = calls[place]++ < 2 || same;
    for (int64_t row = 0; row < a_dim0; ++row) {
        float* to = out + row * b_dim1;
        for (int64_t column = whole ? 0 : row; column < b_dim1; ++column) to[column] = 0;
        for (int64_t k = 0; k < a_dim1; ++k) {
            const float factor = a[row * a_dim1 + k];
            for (int64_t column = row; column < b_dim1; ++column) to[column] += factor * b[k * b_dim1 + column];
        }
    }
    return 0;
}
