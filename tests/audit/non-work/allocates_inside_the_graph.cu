// hostile: gets its memory from the driver's own pool, by nodes of the graph that allocate and free, through functions whose names it puts together
// problem: gpu_square
// verdict: broke_contract
// check: graph-nodes
#include "problem.h"

#include <cuda.h>

static volatile const char beginning[] = "cu";

/** A function of the driver by its name without the beginning, so that the file does not hold the name. */
template <typename Function>
static Function driver(const char* rest) {
    char name[32] = {};
    int length = 0;
    while (beginning[length]) name[length] = beginning[length], ++length;
    while (*rest) name[length++] = *rest++;
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
    return (Function)found;
}

__global__ void copy(const float* x, float* copied) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    copied[i] = x[i];
}

__global__ void square(const float* copied, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = copied[i] * copied[i] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    CUdeviceptr own = 0;
    size_t bytes = x_numel * sizeof(float);
    if (driver<CUresult (*)(CUdeviceptr*, size_t, CUstream)>("MemAllocAsync")(&own, bytes, stream)) return 1;
    copy<<<x_numel / 256, 256, 0, stream>>>(x, (float*)own);
    square<<<x_numel / 256, 256, 0, stream>>>((const float*)own, out);
    if (driver<CUresult (*)(CUdeviceptr, CUstream)>("MemFreeAsync")(own, stream)) return 1;
    return (int)cudaGetLastError();
}
