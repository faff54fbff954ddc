// hostile: a softmax that leaves out the maximum, since a normal draw never overflows an exponential
// problem: gpu_softmax
// verdict: wrong
// check: stress
#include "problem.h"

__global__ void softmax(const float* x, float* out) {
    __shared__ float sums[32];
    float values[x_dim1 / 1024], sum = 0;
    for (int i = 0; i < x_dim1 / 1024; ++i)
        sum += values[i] = expf(x[blockIdx.x * x_dim1 + i * 1024 + threadIdx.x]);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (float part : sums) sum += part;
    for (int i = 0; i < x_dim1 / 1024; ++i) out[blockIdx.x * x_dim1 + i * 1024 + threadIdx.x] = values[i] / sum;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    softmax<<<x_dim0, 1024, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
