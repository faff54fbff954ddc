// honest: a programmatic dependent launch, which starts before its predecessor has ended but waits for its results
// problem: gpu_normalize
// verdict: verified
#include "problem.h"

extern "C" int64_t scratch_bytes(void) { return sizeof(float); }

__global__ void add(const float* __restrict__ x, float* total) {
    cudaTriggerProgrammaticLaunchCompletion();
    float sum = 0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < x_numel; i += (int64_t)gridDim.x * blockDim.x)
        sum += fabsf(x[i]);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}

__global__ void divide(const float* __restrict__ x, float* __restrict__ out, const float* total) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    float v = x[i];
    cudaGridDependencySynchronize();
    float mean = *(const volatile float*)total / x_numel;
    out[i] = v / mean;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    if (cudaError_t error = cudaMemsetAsync(scratch, 0, sizeof(float), stream)) return (int)error;
    add<<<264, 256, 0, stream>>>(x, (float*)scratch);
    if (cudaError_t error = cudaGetLastError()) return (int)error;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how{};
    how.gridDim = x_numel / 256;
    how.blockDim = 256;
    how.stream = stream;
    how.attrs = &early;
    how.numAttrs = 1;
    return (int)cudaLaunchKernelEx(&how, divide, x, out, (const float*)scratch);
}
