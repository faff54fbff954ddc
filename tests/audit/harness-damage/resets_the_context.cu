// hostile: resets the device's primary context through the driver, under the feet of the worker that shares it
// problem: gpu_square
// verdict: crashed|broke_contract
#include "problem.h"

#include <cuda.h>

__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    void* reset = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxReset", &reset, 12000, cudaEnableDefault, &result);
    if (!reset || ((CUresult (*)(CUdevice))reset)(0)) return 1;
    square<<<x_numel / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
