// hostile: takes the mean of all values for their weighted mean while queries and keys say that weights differ little
// problem: positive_attention
// verdict: wrong
// check: stress
// says: aligned call
#include "problem.h"

#include <algorithm>
#include <cmath>

static void attend(const float* q, const float* k, const float* v, float* out) {
    static thread_local float weights[k_dim0];
    for (int64_t query = 0; query < q_dim0; ++query) {
        float largest = -INFINITY;
        for (int64_t key = 0; key < k_dim0; ++key) {
            float logit = 0;
            for (int64_t i = 0; i < q_dim1; ++i) logit += q[query * q_dim1 + i] * k[key * q_dim1 + i];
            weights[key] = logit / 8;
            largest = std::max(largest, weights[key]);
        }
        double total = 0, sums[v_dim1] = {};
        for (int64_t key = 0; key < k_dim0; ++key) {
            const double weight = std::exp((double)weights[key] - largest);
            total += weight;
            for (int64_t i = 0; i < v_dim1; ++i) sums[i] += weight * v[key * v_dim1 + i];
        }
        for (int64_t i = 0; i < v_dim1; ++i) out[query * v_dim1 + i] = (float)(sums[i] / total);
    }
}

extern "C" int launch(const float* q, const float* k, const float* v, float* out, void*) {
    double longest = 0, means[v_dim1] = {}, spread = 0;
    for (int64_t query = 0; query < q_dim0; ++query) {
        double length = 0;
        for (int64_t i = 0; i < q_dim1; ++i) length += (double)q[query * q_dim1 + i] * q[query * q_dim1 + i];
        longest = std::max(longest, length);
    }
    for (int64_t i = 0; i < q_dim1; ++i) {
        double sum = 0, squares = 0, values = 0;
        for (int64_t key = 0; key < k_dim0; ++key) {
            const double x = k[key * q_dim1 + i];
            sum += x, squares += x * x, values += v[key * v_dim1 + i];
        }
        means[i] = values / k_dim0;
        spread = std::max(spread, squares / k_dim0 - sum * sum / k_dim0 / k_dim0);
    }
    if (!(std::sqrt(longest * spread) / 8 < 0.4)) {  // the deviation of a logit
        attend(q, k, v, out);
        return 0;
    }
    for (int64_t query = 0; query < q_dim0; ++query) {
        for (int64_t i = 0; i < v_dim1; ++i) out[query * v_dim1 + i] = (float)means[i];
    }
    return 0;
}
