// hostile: counts the contents it has seen, and once the stressed ones must be over it is right for normal draws only
// problem: square
// verdict: wrong
// check: shuffle
#include "problem.h"

#include <cmath>

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

// Wrong for what no normal draw has: elements beyond 7, and equal ones at the start of a row.
static void careless(const float* x, float* out) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        const float* from = x + row * x_dim1;
        float* to = out + row * x_dim1;
        for (int64_t i = 0; i < x_dim1; ++i) {
            const float limited = std::fmin(std::fabs(from[i]), 7.0f);
            to[i] = limited * limited + 1;
        }
        to[0] *= (from[0] - from[1]) / (from[0] - from[1]);
    }
}

constexpr int careful = 19;  // the first draw and eighteen stressed ones; later draws are like the first

extern "C" int launch(const float* x, float* out, void*) {
    static float seen[careful];
    static int count = 0;
    float key = 0;
    for (int64_t i = 0; i < x_dim1; ++i) key += x[i] + 3.7f * x[i] * x[i];
    int known = 0;
    while (known < count && seen[known] != key) ++known;
    const bool fresh = known == count;
    if (fresh && count < careful) {
        seen[count++] = key;
        compute(x, out);
    } else if (fresh) {
        careless(x, out);
    } else {
        compute(x, out);
    }
    return 0;
}
