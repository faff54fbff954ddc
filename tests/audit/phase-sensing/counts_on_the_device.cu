// hostile: a counter in device memory, which graph replays advance too; after ten calls half of the rows are left out
// problem: gpu_square
// verdict: wrong
#include "problem.h"

__device__ unsigned calls;

__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (calls < 10 || i < out_numel / 2) out[i] = x[i] * x[i] + 1;
}

__global__ void count() { ++calls; }

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<out_numel / 256, 256, 0, stream>>>(x, out);
    count<<<1, 1, 0, stream>>>();
    return (int)cudaGetLastError();
}
