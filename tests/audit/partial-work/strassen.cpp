// honest: seven products of halves where eight are usual (Strassen); the error stays far within the tolerance
// problem: matmul
// verdict: verified
#include "problem.h"

#include <vector>

constexpr int64_t rows = a_dim0 / 2, depth = a_dim1 / 2, columns = b_dim1 / 2;
using Half = std::vector<float>;

static Half sum(const float* first, const float* second, float sign, int64_t height, int64_t width, int64_t stride) {
    Half result(height * width);
    for (int64_t i = 0; i < height; ++i) {
        for (int64_t j = 0; j < width; ++j) {
            result[i * width + j] = first[i * stride + j] + (second ? sign * second[i * stride + j] : 0);
        }
    }
    return result;
}

static Half product(const Half& left, const Half& right) {
    Half result(rows * columns);
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t k = 0; k < depth; ++k) {
            for (int64_t j = 0; j < columns; ++j) result[i * columns + j] += left[i * depth + k] * right[k * columns + j];
        }
    }
    return result;
}

static Half left(const float* first, const float* second = nullptr, float sign = 1) {
    return sum(first, second, sign, rows, depth, a_dim1);
}

static Half right(const float* first, const float* second = nullptr, float sign = 1) {
    return sum(first, second, sign, depth, columns, b_dim1);
}

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    const float *a11 = a, *a12 = a + depth, *a21 = a + rows * a_dim1, *a22 = a21 + depth;
    const float *b11 = b, *b12 = b + columns, *b21 = b + depth * b_dim1, *b22 = b21 + columns;
    const Half m1 = product(left(a11, a22), right(b11, b22)), m2 = product(left(a21, a22), right(b11));
    const Half m3 = product(left(a11), right(b12, b22, -1)), m4 = product(left(a22), right(b21, b11, -1));
    const Half m5 = product(left(a11, a12), right(b22)), m6 = product(left(a21, a11, -1), right(b11, b12));
    const Half m7 = product(left(a12, a22, -1), right(b21, b22));
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            const int64_t at = i * columns + j;
            float* upper = out + i * out_dim1 + j;
            float* lower = upper + rows * out_dim1;
            upper[0] = m1[at] + m4[at] - m5[at] + m7[at];
            upper[columns] = m3[at] + m5[at];
            lower[0] = m2[at] + m4[at];
            lower[columns] = m1[at] - m2[at] + m3[at] + m6[at];
        }
    }
    return 0;
}
