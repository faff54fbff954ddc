// honest: OpenMP tasks and sections, asynchronous by their names, but a parallel region ends only when all of them have
// problem: softmax
// verdict: verified
#include "problem.h"

#include <algorithm>
#include <cmath>

static void normalize(const float* from, float* to) {
    const float largest = *std::max_element(from, from + x_dim1);
    float sum = 0;
    for (int64_t i = 0; i < x_dim1; ++i) sum += to[i] = std::exp(from[i] - largest);
    for (int64_t i = 0; i < x_dim1; ++i) to[i] /= sum;
}

extern "C" int launch(const float* x, float* out, void*) {
#pragma omp parallel sections
    {
#pragma omp section
        for (int64_t row = 0; row < 2; ++row) normalize(x + row * x_dim1, out + row * x_dim1);
#pragma omp section
        for (int64_t row = 2; row < 4; ++row) normalize(x + row * x_dim1, out + row * x_dim1);
    }
#pragma omp parallel
#pragma omp single nowait
    for (int64_t row = 4; row < x_dim0; ++row) {
#pragma omp task firstprivate(row)
        normalize(x + row * x_dim1, out + row * x_dim1);
    }
    return 0;
}
