// hostile: rounds both operands to eight bits (e4m3) before it multiplies, as an fp8 tensor core would
// problem: gpu_matmul
// verdict: wrong
#include "problem.h"

#include <cuda_fp8.h>

__device__ float rounded(float value) { return (float)__nv_fp8_e4m3(value); }

__global__ void multiply(const float* a, const float* b, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < a_dim1; ++k)
        sum += rounded(a[i / out_dim1 * a_dim1 + k]) * rounded(b[k * b_dim1 + i % out_dim1]);
    out[i] = sum;
}

extern "C" int launch(const float* a, const float* b, float* out, void* scratch, cudaStream_t stream) {
    multiply<<<out_numel / 256, 256, 0, stream>>>(a, b, out);
    return (int)cudaGetLastError();
}
