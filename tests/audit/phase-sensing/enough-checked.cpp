// hostile: counts the contents it has seen, and leaves a fifth of the work out once all that is checked must have come
// problem: matmul
// verdict: wrong
// check: shuffle
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

constexpr int checked = 11;  // four nominal calls and seven stressed ones

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    static float seen[checked][2];
    static int count = 0;
    int known = 0;
    while (known < count && (seen[known][0] != a[a_numel / 3] || seen[known][1] != b[b_numel / 3])) ++known;
    const bool fresh = known == count;
    if (fresh && count < checked) {
        seen[count][0] = a[a_numel / 3];
        seen[count++][1] = b[b_numel / 3];
    }
    multiply(a, b, out, fresh && known == checked ? a_dim1 * 4 / 5 : a_dim1);
    return 0;
}
