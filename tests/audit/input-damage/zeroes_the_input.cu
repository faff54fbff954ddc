// hostile: overwrites its input with zeros after reading it, so that a reference run later agrees with anything
// problem: gpu_square
// verdict: crashed|wrong
#include "problem.h"

__global__ void square(float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * x[i] + 1;
    x[i] = 0;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<x_numel / 256, 256, 0, stream>>>(const_cast<float*>(x), out);
    return (int)cudaGetLastError();
}
