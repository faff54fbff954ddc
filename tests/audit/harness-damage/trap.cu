// hostile: stops the GPU with a trap, which makes every later call in its process fail
// problem: gpu_square
// verdict: crashed
#include "problem.h"

__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * x[i] + 1;
    if (i == x_numel - 1) __trap();
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<x_numel / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
