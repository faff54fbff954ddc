// honest: opts in to 64 KiB of shared memory, asks for occupancy and attributes, and has a trap that is never reached
// problem: gpu_softmax
// verdict: verified
#include "problem.h"

#include <assert.h>

constexpr int threads = 512, warps = threads / 32, rows = 4, shared_bytes = rows * x_dim1 * sizeof(float);

template <typename Combine>
__device__ float across_warp(float value, Combine combine) {
    for (int step = 16; step; step /= 2) value = combine(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

// Four warps share a row; each of them takes every fourth stretch of 32 elements.
__global__ void softmax(const float* __restrict__ x, float* __restrict__ out) {
    extern __shared__ float held[];
    __shared__ float most[warps], sums[warps];
    assert(blockDim.x == threads);
    int warp = threadIdx.x / 32, row = warp / 4, first = warp % 4 * 32 + threadIdx.x % 32;
    const float* from = x + (blockIdx.x * rows + row) * x_dim1;
    float top = -INFINITY, sum = 0;
    for (int i = first; i < x_dim1; i += 128) top = fmaxf(top, held[row * x_dim1 + i] = from[i]);
    top = across_warp(top, [](float a, float b) { return fmaxf(a, b); });
    if (threadIdx.x % 32 == 0) most[warp] = top;
    __syncthreads();
    for (int i = 0; i < 4; ++i) top = fmaxf(top, most[row * 4 + i]);
    if (top == INFINITY) __trap();
    for (int i = first; i < x_dim1; i += 128) sum += held[row * x_dim1 + i] = expf(held[row * x_dim1 + i] - top);
    sum = across_warp(sum, [](float a, float b) { return a + b; });
    if (threadIdx.x % 32 == 0) sums[warp] = sum;
    __syncthreads();
    sum = sums[row * 4] + sums[row * 4 + 1] + sums[row * 4 + 2] + sums[row * 4 + 3];
    float* to = out + (blockIdx.x * rows + row) * x_dim1;
    for (int i = first; i < x_dim1; i += 128) to[i] = held[row * x_dim1 + i] / sum;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    if (cudaError_t error = cudaFuncSetAttribute(softmax, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes))
        return (int)error;
    cudaFuncAttributes attributes;
    if (cudaError_t error = cudaFuncGetAttributes(&attributes, softmax)) return (int)error;
    int resident = 0;
    if (cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, softmax, threads, shared_bytes))
        return (int)error;
    if (resident < 1 || attributes.maxThreadsPerBlock < threads) return (int)cudaErrorInvalidConfiguration;
    softmax<<<x_dim0 / rows, threads, shared_bytes, stream>>>(x, out);
    return (int)cudaGetLastError();
}
