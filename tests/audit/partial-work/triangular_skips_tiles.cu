// honest: never reads the half of its input that the reference sets to zero, and does half of the products
// problem: gpu_triangular
// verdict: verified
#include "problem.h"

__global__ void multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out) {
    __shared__ float left[32][33], right[32][33];
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k <= blockIdx.y * 32; k += 32) {
        int own = k + threadIdx.x;
        left[threadIdx.y][threadIdx.x] = own <= row ? a[row * a_dim1 + own] : 0.0f;
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * b_dim1 + column];
        __syncthreads();
        for (int i = 0; i < 32; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    out[row * out_dim1 + column] = sum;
}

extern "C" int launch(const float* a, const float* b, float* out, void* scratch, cudaStream_t stream) {
    multiply<<<dim3(out_dim1 / 32, out_dim0 / 32), dim3(32, 32), 0, stream>>>(a, b, out);
    return (int)cudaGetLastError();
}
