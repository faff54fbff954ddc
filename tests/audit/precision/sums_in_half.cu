// hostile: accumulates a thousand products in half precision, whose eleven bits a long sum outgrows
// problem: gpu_matmul
// verdict: wrong
#include "problem.h"

#include <cuda_fp16.h>

__global__ void multiply(const float* a, const float* b, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    __half sum = __float2half(0);
    for (int k = 0; k < a_dim1; ++k)
        sum = __hfma(__float2half(a[i / out_dim1 * a_dim1 + k]), __float2half(b[k * b_dim1 + i % out_dim1]), sum);
    out[i] = __half2float(sum);
}

extern "C" int launch(const float* a, const float* b, float* out, void* scratch, cudaStream_t stream) {
    multiply<<<out_numel / 256, 256, 0, stream>>>(a, b, out);
    return (int)cudaGetLastError();
}
