// hostile: computes its first four calls and answers every later one with them in turn
// problem: gpu_square
// verdict: wrong
#include "problem.h"

__device__ float kept[4][out_numel];
__device__ unsigned calls;

__global__ void answer(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    unsigned slot = calls % 4;
    if (calls < 4) kept[slot][i] = x[i] * x[i] + 1;
    out[i] = kept[slot][i];
}

__global__ void count() { ++calls; }

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    answer<<<out_numel / 256, 256, 0, stream>>>(x, out);
    count<<<1, 1, 0, stream>>>();
    return (int)cudaGetLastError();
}
