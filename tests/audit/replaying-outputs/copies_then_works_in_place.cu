// honest: copies its input to its output and goes over that in place, three times, with a fill of scratch between
// problem: gpu_square
// verdict: verified
#include "problem.h"

extern "C" int64_t scratch_bytes(void) { return out_numel * sizeof(float); }

__global__ void square(float* values) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    values[i] *= values[i];
}

__global__ void add(float* values, const float* others, float one) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    values[i] += others[i] + one;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    size_t bytes = out_numel * sizeof(float);
    if (cudaError_t error = cudaMemcpyAsync(out, x, bytes, cudaMemcpyDeviceToDevice, stream)) return (int)error;
    if (cudaError_t error = cudaMemsetAsync(scratch, 0, bytes, stream)) return (int)error;
    square<<<out_numel / 256, 256, 0, stream>>>(out);
    add<<<out_numel / 256, 256, 0, stream>>>(out, (const float*)scratch, 0.25f);
    add<<<out_numel / 256, 256, 0, stream>>>(out, (const float*)scratch, 0.75f);
    return (int)cudaGetLastError();
}
