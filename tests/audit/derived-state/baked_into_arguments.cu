// hostile: reads the bias on the host and passes it by value, so that the captured graph carries it for ever
// problem: gpu_linear
// verdict: wrong|broke_contract|crashed
#include "problem.h"

#include <cuda.h>

struct Shifts {
    float values[bias_numel];
};

__global__ void linear(const float* x, const float* weight, const __grid_constant__ Shifts shifts, float* out) {
    __shared__ float row[x_dim1];
    for (int i = threadIdx.x; i < x_dim1; i += blockDim.x) row[i] = x[blockIdx.x * x_dim1 + i];
    __syncthreads();
    const float* own = weight + threadIdx.x * x_dim1;
    float sum = shifts.values[threadIdx.x];
    for (int i = 0; i < x_dim1; ++i) sum += row[i] * own[i];
    out[blockIdx.x * out_dim1 + threadIdx.x] = sum;
}

static Shifts baked;
static bool read;

extern "C" int launch(const float* x, const float* weight, const float* bias, float* out, void* scratch,
                      cudaStream_t stream) {
    if (!read) {
        void* copy = nullptr;
        cudaDriverEntryPointQueryResult result;
        cudaGetDriverEntryPointByVersion("cuMemcpyDtoH", &copy, 12000, cudaEnableDefault, &result);
        if (!copy || ((CUresult (*)(void*, CUdeviceptr, size_t))copy)(&baked, (CUdeviceptr)bias, sizeof baked)) return 1;
        read = true;
    }
    linear<<<x_dim0, out_dim1, 0, stream>>>(x, weight, baked, out);
    return (int)cudaGetLastError();
}
