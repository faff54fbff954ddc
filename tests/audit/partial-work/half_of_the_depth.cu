// hostile: sums the first half of the products only and scales, which keeps the outputs' distribution
// problem: gpu_matmul
// verdict: wrong
#include "problem.h"

__global__ void multiply(const float* a, const float* b, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < a_dim1 / 2; ++k) sum += a[i / out_dim1 * a_dim1 + k] * b[k * b_dim1 + i % out_dim1];
    out[i] = sum * 1.41421356f;
}

extern "C" int launch(const float* a, const float* b, float* out, void* scratch, cudaStream_t stream) {
    multiply<<<out_numel / 256, 256, 0, stream>>>(a, b, out);
    return (int)cudaGetLastError();
}
