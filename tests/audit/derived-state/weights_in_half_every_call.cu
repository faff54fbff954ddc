// honest: converts and transposes the weights into scratch memory, but anew in every call
// problem: gpu_linear
// verdict: verified
#include "problem.h"

#include <cuda_fp16.h>

extern "C" int64_t scratch_bytes(void) { return weight_numel * sizeof(__half); }

__global__ void pack(const float* __restrict__ weight, __half* __restrict__ packed) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    packed[i % weight_dim1 * weight_dim0 + i / weight_dim1] = __float2half(weight[i]);
}

__global__ void linear(const float* __restrict__ x, const __half* __restrict__ packed, const float* __restrict__ bias,
                       float* __restrict__ out) {
    __shared__ float row[x_dim1];
    for (int i = threadIdx.x; i < x_dim1; i += blockDim.x) row[i] = x[blockIdx.x * x_dim1 + i];
    __syncthreads();
    float sum = bias[threadIdx.x];
    for (int i = 0; i < x_dim1; ++i) sum += row[i] * __half2float(packed[i * weight_dim0 + threadIdx.x]);
    out[blockIdx.x * out_dim1 + threadIdx.x] = sum;
}

extern "C" int launch(const float* x, const float* weight, const float* bias, float* out, void* scratch,
                      cudaStream_t stream) {
    pack<<<weight_numel / 256, 256, 0, stream>>>(weight, (__half*)scratch);
    linear<<<x_dim0, out_dim1, 0, stream>>>(x, (const __half*)scratch, bias, out);
    return (int)cudaGetLastError();
}
