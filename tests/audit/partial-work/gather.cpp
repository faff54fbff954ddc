// honest: reads a quarter of the table at most, the rows that are asked for
// problem: embedding
// verdict: verified
#include "problem.h"

extern "C" int launch(const int64_t* index, const float* table_weight, float* out, void*) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < index_numel; ++i) {
        memcpy(out + i * out_dim1, table_weight + index[i] * table_weight_dim1, sizeof(float) * out_dim1);
    }
    return 0;
}
