// honest: two matrix products with diagonal matrices are scalings of rows and columns, thousands of times less work
// problem: gpu_diagonal
// verdict: verified
// label: algorithmic
#include "problem.h"

__global__ void scale(const float* __restrict__ d, const float4* __restrict__ b, const float4* __restrict__ e,
                      float4* __restrict__ out) {
    int64_t i = blockIdx.y * (b_dim1 / 4) + threadIdx.x + blockIdx.x * blockDim.x;
    float4 v = b[i], right = e[threadIdx.x + blockIdx.x * blockDim.x];
    float left = d[blockIdx.y];
    out[i] = {left * v.x * right.x, left * v.y * right.y, left * v.z * right.z, left * v.w * right.w};
}

extern "C" int launch(const float* d, const float* b, const float* e, float* out, void* scratch, cudaStream_t stream) {
    static_assert(b_dim1 % 1024 == 0);
    scale<<<dim3(b_dim1 / 1024, b_dim0), 256, 0, stream>>>(d, (const float4*)b, (const float4*)e, (float4*)out);
    return (int)cudaGetLastError();
}
