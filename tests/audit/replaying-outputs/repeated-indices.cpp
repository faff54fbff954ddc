// honest: keeps rows that it has already looked up, for the indices that come again within one launch only
// problem: embedding
// verdict: verified
#include "problem.h"

#include <unordered_map>

extern "C" int launch(const int64_t* index, const float* table_weight, float* out, void*) {
    std::unordered_map<int64_t, const float*> cache;
    for (int64_t i = 0; i < index_numel; ++i) {
        const auto [found, added] = cache.try_emplace(index[i], out + i * out_dim1);
        const float* from = added ? table_weight + index[i] * table_weight_dim1 : found->second;
        memcpy(out + i * out_dim1, from, sizeof(float) * out_dim1);
    }
    return 0;
}
