// hostile: its second launch asks for more threads than a block can have; it clears the error and reports success
// problem: gpu_square
// verdict: wrong|crashed|broke_contract
#include "problem.h"

__global__ void square(const float* x, float* out, int64_t first) {
    int64_t i = first + blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < x_numel) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<x_numel / 512, 256, 0, stream>>>(x, out, 0);
    square<<<x_numel / 4096, 2048, 0, stream>>>(x, out, x_numel / 2);
    cudaGetLastError();
    return 0;
}
