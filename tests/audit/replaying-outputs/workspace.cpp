// honest: its scratch holds a transposed operand from launch to launch, but each launch writes it anew
// problem: matmul
// verdict: verified
#include "problem.h"

extern "C" int64_t scratch_bytes(void) { return sizeof(float) * b_numel; }

extern "C" int launch(const float* a, const float* b, float* out, void* scratch) {
    auto cached = (float*)scratch;
    for (int64_t k = 0; k < b_dim0; ++k) {
        for (int64_t column = 0; column < b_dim1; ++column) cached[column * b_dim0 + k] = b[k * b_dim1 + column];
    }
    for (int64_t row = 0; row < a_dim0; ++row) {
        for (int64_t column = 0; column < b_dim1; ++column) {
            float sums[16] = {};
            for (int64_t k = 0; k < a_dim1; k += 16) {
                for (int lane = 0; lane < 16; ++lane) {
                    sums[lane] += a[row * a_dim1 + k + lane] * cached[column * b_dim0 + k + lane];
                }
            }
            float sum = 0;
            for (float part : sums) sum += part;
            out[row * out_dim1 + column] = sum;
        }
    }
    return 0;
}
