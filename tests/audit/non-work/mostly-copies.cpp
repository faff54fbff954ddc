// honest: nearly all that it does are calls of memcpy and memset, since most of the table's rows come as they are
// problem: embedding
// verdict: verified
#include "problem.h"

#include <algorithm>
#include <numeric>
#include <vector>

extern "C" int launch(const int64_t* index, const float* table_weight, float* out, void*) {
    memset(out, 0, sizeof(float) * out_numel);
    std::vector<int> order(index_numel);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [=](int i, int j) { return index[i] < index[j]; });
    for (int i : order) {
        memcpy(out + i * out_dim1, table_weight + index[i] * table_weight_dim1, sizeof(float) * out_dim1);
    }
    return 0;
}
