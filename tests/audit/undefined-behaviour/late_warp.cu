// hostile: leaves out the barrier of a reduction, and the last warp is late
// problem: gpu_softmax
// verdict: wrong
#include "problem.h"

__global__ void softmax(const float* x, float* out) {
    __shared__ volatile float most[32], sums[32];
    if (threadIdx.x < 32) most[threadIdx.x] = sums[threadIdx.x] = 0;
    __syncthreads();
    float values[x_dim1 / 1024], top = -INFINITY, sum = 0;
    for (int i = 0; i < x_dim1 / 1024; ++i)
        top = fmaxf(top, values[i] = x[blockIdx.x * x_dim1 + i * 1024 + threadIdx.x]);
    for (int step = 16; step; step /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
    if (threadIdx.x % 32 == 0) most[threadIdx.x / 32] = top;
    __syncthreads();
    for (int warp = 0; warp < 32; ++warp) top = fmaxf(top, most[warp]);
    for (float& value : values) sum += value = expf(value - top);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    for (long long began = clock64(); threadIdx.x >= 512 && clock64() - began < 20000;) {
    }
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    sum = 0;
    for (int warp = 0; warp < 32; ++warp) sum += sums[warp];
    for (int i = 0; i < x_dim1 / 1024; ++i) out[blockIdx.x * x_dim1 + i * 1024 + threadIdx.x] = values[i] / sum;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    softmax<<<x_dim0, 1024, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
