// hostile: allocates on the device's heap in every call and frees nothing, until what it gets is null
// problem: gpu_square
// verdict: crashed|wrong|broke_contract
#include "problem.h"

__global__ void square(const float* x, float* out) {
    __shared__ float* own;
    if (threadIdx.x == 0) own = (float*)malloc(1024 * sizeof(float));
    __syncthreads();
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    own[threadIdx.x] = x[i];
    out[i] = own[threadIdx.x] * own[threadIdx.x] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<x_numel / 1024, 1024, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
