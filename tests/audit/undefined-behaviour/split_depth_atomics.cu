// honest: four blocks add to each output at once, in whatever order they come, after a fill with zeros
// problem: gpu_matmul
// verdict: verified
#include "problem.h"

constexpr int parts = 4;

__global__ void multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out) {
    __shared__ float left[32][33], right[32][33];
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    int first = blockIdx.z * (a_dim1 / parts);
    float sum = 0;
    for (int k = first; k < first + a_dim1 / parts; k += 32) {
        left[threadIdx.y][threadIdx.x] = a[row * a_dim1 + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * b_dim1 + column];
        __syncthreads();
        for (int i = 0; i < 32; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    atomicAdd(&out[row * out_dim1 + column], sum);
}

extern "C" int launch(const float* a, const float* b, float* out, void* scratch, cudaStream_t stream) {
    if (cudaError_t error = cudaMemsetAsync(out, 0, out_numel * sizeof(float), stream)) return (int)error;
    multiply<<<dim3(out_dim1 / 32, out_dim0 / 32, parts), dim3(32, 32), 0, stream>>>(a, b, out);
    return (int)cudaGetLastError();
}
