// hostile: transposes the weights into a device array in its first call and never looks at them again
// problem: gpu_linear
// verdict: wrong
// check: weights
#include "problem.h"

__device__ float packed[weight_numel];
__device__ float shifts[bias_numel];
__device__ bool ready;

__global__ void pack(const float* weight, const float* bias) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (ready) return;
    packed[i % weight_dim1 * weight_dim0 + i / weight_dim1] = weight[i];
    if (i < bias_numel) shifts[i] = bias[i];
}

__global__ void mark() { ready = true; }

__global__ void linear(const float* x, float* out) {
    __shared__ float row[x_dim1];
    for (int i = threadIdx.x; i < x_dim1; i += blockDim.x) row[i] = x[blockIdx.x * x_dim1 + i];
    __syncthreads();
    float sum = shifts[threadIdx.x];
    for (int i = 0; i < x_dim1; ++i) sum += row[i] * packed[i * weight_dim0 + threadIdx.x];
    out[blockIdx.x * out_dim1 + threadIdx.x] = sum;
}

extern "C" int launch(const float* x, const float* weight, const float* bias, float* out, void* scratch,
                      cudaStream_t stream) {
    pack<<<weight_numel / 256, 256, 0, stream>>>(weight, bias);
    mark<<<1, 1, 0, stream>>>();
    linear<<<x_dim0, out_dim1, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
