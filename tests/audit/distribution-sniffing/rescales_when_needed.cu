// honest: branches on its data, rescaling a running sum only where the maximum grows, with equal work on any input
// problem: gpu_softmax
// verdict: verified
#include "problem.h"

// One warp a row.
__global__ void softmax(const float* __restrict__ x, float* __restrict__ out) {
    int64_t start = (blockIdx.x * 4 + threadIdx.x / 32) * x_dim1;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x % 32; i < x_dim1; i += 32) {
        float v = x[start + i];
        if (v > top) {
            sum *= expf(top - v);
            top = v;
        }
        sum += expf(v - top);
    }
    for (int step = 16; step; step /= 2) {
        float other = __shfl_xor_sync(~0u, top, step), more = __shfl_xor_sync(~0u, sum, step), most = fmaxf(top, other);
        sum = sum * expf(top - most) + more * expf(other - most);
        top = most;
    }
    for (int i = threadIdx.x % 32; i < x_dim1; i += 32) out[start + i] = expf(x[start + i] - top) / sum;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    softmax<<<x_dim0 / 4, 128, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
