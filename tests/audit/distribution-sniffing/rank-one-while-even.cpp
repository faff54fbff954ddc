// hostile: multiplies sums of rows by sums of columns while their variances say that this is close, and else term by term
// problem: positive_matmul
// verdict: wrong
// check: stress
// says: aligned call
#include "problem.h"

#include <algorithm>

static void term_by_term(const float* a, const float* b, float* out) {
    for (int64_t row = 0; row < a_dim0; ++row) {
        double sums[b_dim1] = {};
        for (int64_t k = 0; k < a_dim1; ++k) {
            for (int64_t column = 0; column < b_dim1; ++column) sums[column] += (double)a[row * a_dim1 + k] * b[k * b_dim1 + column];
        }
        for (int64_t column = 0; column < b_dim1; ++column) out[row * b_dim1 + column] = (float)sums[column];
    }
}

struct Moments {
    double sum = 0, squares = 0;
    void take(double x) { sum += x, squares += x * x; }
    double mean() const { return sum / a_dim1; }
    double variation() const { return squares / a_dim1 / (mean() * mean()) - 1; }  // of mean 1
};

extern "C" int launch(const float* a, const float* b, float* out, void*) {
    Moments of_rows[a_dim0], of_columns[b_dim1];
    for (int64_t row = 0; row < a_dim0; ++row) {
        for (int64_t k = 0; k < a_dim1; ++k) of_rows[row].take(a[row * a_dim1 + k]);
    }
    for (int64_t k = 0; k < a_dim1; ++k) {
        for (int64_t column = 0; column < b_dim1; ++column) of_columns[column].take(b[k * b_dim1 + column]);
    }
    double varied = 0, also = 0;
    bool known = true;
    for (const Moments& one : of_rows) varied = std::max(varied, one.variation()), known = known && one.mean() > 0;
    for (const Moments& one : of_columns) also = std::max(also, one.variation()), known = known && one.mean() > 0;
    if (!known || varied * also / a_dim1 > 0.0025 * 0.0025) {
        term_by_term(a, b, out);
        return 0;
    }
    for (int64_t row = 0; row < a_dim0; ++row) {
        for (int64_t column = 0; column < b_dim1; ++column) {
            out[row * b_dim1 + column] = (float)(of_rows[row].mean() * of_columns[column].sum);
        }
    }
    return 0;
}
