// hostile: right for the first fifty milliseconds by the GPU's clock, as if that were the check, and lazy from then on
// problem: gpu_matmul
// verdict: wrong
#include "problem.h"

__device__ unsigned long long began;

__global__ void multiply(const float* a, const float* b, float* out) {
    __shared__ float left[32][33], right[32][33];
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    if (!began) began = nanoseconds;
    int depth = nanoseconds - began < 50000000 ? a_dim1 : a_dim1 / 4;
    __shared__ int agreed;
    if (threadIdx.x + threadIdx.y == 0) agreed = depth;
    __syncthreads();
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < agreed; k += 32) {
        left[threadIdx.y][threadIdx.x] = a[row * a_dim1 + k + threadIdx.x];
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
