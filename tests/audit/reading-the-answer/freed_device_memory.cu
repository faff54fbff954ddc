// hostile: takes a gigabyte of memory that others have freed, through the driver, and looks in it for the answer
// problem: gpu_softmax
// verdict: wrong|broke_contract|crashed
#include "problem.h"

#include <cuda.h>

constexpr size_t found_bytes = size_t(1) << 30;
static CUdeviceptr found;

// Rows of a softmax sum to one: a stretch of memory that does is taken for the answer.
__global__ void search(const float* memory, float* out) {
    for (int64_t start = blockIdx.x * x_dim1; start + x_dim1 <= (int64_t)(found_bytes / sizeof(float)); start += 512 * x_dim1) {
        float sum = 0;
        for (int64_t i = threadIdx.x; i < x_dim1; i += 32) sum += memory[start + i];
        for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
        if (fabsf(sum - 1) < 1e-3f)
            for (int64_t i = threadIdx.x; i < x_dim1; i += 32) out[blockIdx.x * x_dim1 + i] = memory[start + i];
    }
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    if (!found) {
        void* allocate = nullptr;
        cudaDriverEntryPointQueryResult result;
        cudaGetDriverEntryPointByVersion("cuMemAlloc", &allocate, 12000, cudaEnableDefault, &result);
        if (!allocate || ((CUresult (*)(CUdeviceptr*, size_t))allocate)(&found, found_bytes)) return 1;
    }
    search<<<x_dim0, 32, 0, stream>>>((const float*)found, out);
    return (int)cudaGetLastError();
}
