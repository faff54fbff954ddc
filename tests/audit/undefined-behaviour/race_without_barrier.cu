// hostile: one warp reads what another wrote without a barrier between; a delay hides it from every answer
// problem: gpu_square
// verdict: suspect
// check: sanitizer
#include "problem.h"

__global__ void square(const float* x, float* out) {
    __shared__ volatile float values[64];
    int64_t i = blockIdx.x * 64 + threadIdx.x;
    values[threadIdx.x] = x[i];
    long long began = clock64();
    while (clock64() - began < 20000) {
    }
    // Each warp squares the other one's elements.
    int other = threadIdx.x ^ 32;
    float v = values[other];
    out[blockIdx.x * 64 + other] = v * v + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<x_numel / 64, 64, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
