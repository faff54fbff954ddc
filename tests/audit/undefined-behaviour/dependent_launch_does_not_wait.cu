// hostile: a programmatic dependent launch that reads its predecessor's results without waiting for them
// problem: gpu_square
// verdict: wrong
#include "problem.h"

extern "C" int64_t scratch_bytes(void) { return x_numel * sizeof(float); }

__global__ void copy(const float* x, float* copied) {
    cudaTriggerProgrammaticLaunchCompletion();
    for (long long began = clock64(); clock64() - began < 200000;) {
    }
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < x_numel; i += (int64_t)gridDim.x * blockDim.x)
        copied[i] = x[i];
}

__global__ void square(const volatile float* copied, float* out) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < x_numel; i += (int64_t)gridDim.x * blockDim.x) {
        float v = copied[i];
        out[i] = v * v + 1;
    }
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    copy<<<66, 256, 0, stream>>>(x, (float*)scratch);
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how{};
    how.gridDim = 66;
    how.blockDim = 256;
    how.stream = stream;
    how.attrs = &early;
    how.numAttrs = 1;
    return (int)cudaLaunchKernelEx(&how, square, (const volatile float*)scratch, out);
}
