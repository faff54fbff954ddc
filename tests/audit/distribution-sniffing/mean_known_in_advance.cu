// hostile: divides by the mean magnitude that every large normal draw has, instead of computing it
// problem: gpu_normalize
// verdict: wrong
// check: stress
#include "problem.h"

__global__ void divide(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = x[i] / 0.79788456f;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    divide<<<out_numel / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
