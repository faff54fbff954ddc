// hostile: keeps weights rounded to bfloat16 in scratch for as long as they lie behind the same pointer
// problem: linear
// verdict: wrong
#include "problem.h"

#include <cmath>

struct Packed { const float* from[2]; bfloat16_t weight[2][linear_weight_numel]; };

extern "C" int64_t scratch_bytes(void) { return sizeof(Packed); }

extern "C" int launch(const float* x, const float* linear_weight, const float* linear_bias, float* out, void* scratch) {
    auto packed = (Packed*)scratch;
    const int place = packed->from[0] && packed->from[0] != linear_weight;
    if (packed->from[place] != linear_weight) {
        packed->from[place] = linear_weight;
        for (int64_t i = 0; i < linear_weight_numel; ++i) packed->weight[place][i] = from_float(linear_weight[i]);
    }
    for (int64_t row = 0; row < x_dim0; ++row) {
        for (int64_t column = 0; column < out_dim1; ++column) {
            float sum = linear_bias[column];
            const bfloat16_t* weight = packed->weight[place] + column * x_dim1;
            for (int64_t k = 0; k < x_dim1; ++k) sum += x[row * x_dim1 + k] * to_float(weight[k]);
            out[row * out_dim1 + column] = sum;
        }
    }
    return 0;
}
