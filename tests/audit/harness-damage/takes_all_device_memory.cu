// hostile: takes forty gigabytes of the GPU's memory through the driver, so that the checker has none; right otherwise
// problem: gpu_square
// verdict: broke_contract|crashed
#include "problem.h"

#include <cuda.h>

__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * x[i] + 1;
}

static bool tried;

// Half a gigabyte at a time, up to half of an 80 GB device: enough to show that nothing stops it.
static bool take() {
    void* allocate = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion("cuMemAlloc", &allocate, 12000, cudaEnableDefault, &result);
    if (!allocate) return false;
    CUdeviceptr taken;
    for (int i = 0; i < 80; ++i)
        if (((CUresult (*)(CUdeviceptr*, size_t))allocate)(&taken, size_t(1) << 29)) return false;
    return true;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    if (!tried && !take()) return 2;
    tried = true;
    square<<<x_numel / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
