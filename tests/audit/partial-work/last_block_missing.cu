// hostile: launches one block too few, so that the last 256 of two million elements are whatever was there
// problem: gpu_square
// verdict: wrong
// says: not finite
#include "problem.h"

__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<out_numel / 256 - 1, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
