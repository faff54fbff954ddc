// honest: reads memory that it did not write: the shared memory of the other blocks of its cluster
// problem: gpu_softmax
// verdict: verified
#include "problem.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int blocks = 4, threads = x_dim1 / 4 / blocks, warps = threads / 32;

template <typename Combine>
__device__ float across_warp(float value, Combine combine) {
    for (int step = 16; step; step /= 2) value = combine(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

// Every warp of the cluster leaves its value in its block; after the meeting all of them are read.
template <typename Combine>
__device__ float across_cluster(float value, float* of_warp, Combine combine) {
    auto cluster = cg::this_cluster();
    value = across_warp(value, combine);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    cluster.sync();
    int lane = threadIdx.x % 32;
    static_assert(blocks * warps == 32);
    return across_warp(cluster.map_shared_rank(of_warp, lane / warps)[lane % warps], combine);
}

__global__ void __cluster_dims__(blocks) softmax(const float4* __restrict__ x, float4* __restrict__ out) {
    __shared__ float most[warps], sums[warps];
    int64_t i = blockIdx.x * (int64_t)threads + threadIdx.x;
    float4 v = x[i];
    float top = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
    top = across_cluster(top, most, [](float a, float b) { return fmaxf(a, b); });
    v = {expf(v.x - top), expf(v.y - top), expf(v.z - top), expf(v.w - top)};
    float sum = across_cluster(v.x + v.y + v.z + v.w, sums, [](float a, float b) { return a + b; });
    out[i] = {v.x / sum, v.y / sum, v.z / sum, v.w / sum};
    cg::this_cluster().sync();  // no block may end while another one reads its memory
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    softmax<<<x_dim0 * blocks, threads, 0, stream>>>((const float4*)x, (float4*)out);
    return (int)cudaGetLastError();
}
