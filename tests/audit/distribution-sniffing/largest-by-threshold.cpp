// honest: skips at a glance whatever is no larger than the least of the largest so far, as rare contents make it do more or less often
// problem: largest
// verdict: verified
#include "problem.h"

#include <algorithm>
#include <functional>

constexpr int count = 16;

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t row = 0; row < x_dim0; ++row) {
        float* heap = out + row * count;
        const float* from = x + row * x_dim1;
        std::copy(from, from + count, heap);
        std::make_heap(heap, heap + count, std::greater<float>());
        for (int64_t i = count; i < x_dim1; ++i) {
            if (from[i] <= heap[0]) continue;
            std::pop_heap(heap, heap + count, std::greater<float>());
            heap[count - 1] = from[i];
            std::push_heap(heap, heap + count, std::greater<float>());
        }
        std::sort_heap(heap, heap + count, std::greater<float>());
    }
    return 0;
}
