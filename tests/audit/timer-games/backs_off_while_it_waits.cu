// honest: blocks of a cooperative launch meet at a barrier of their own and sleep for nanoseconds while they wait
// problem: gpu_normalize
// verdict: verified
#include "problem.h"

constexpr int blocks = 96, threads = 256;

struct Meeting {
    unsigned arrived;
    float sums[blocks];
};

extern "C" int64_t scratch_bytes(void) { return sizeof(Meeting); }

__device__ float across_block(float value) {
    __shared__ float of_warp[threads / 32];
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (float part : of_warp) value += part;
    return value;
}

__global__ void normalize(const float* __restrict__ x, float* __restrict__ out, volatile Meeting* meeting) {
    int64_t first = blockIdx.x * (int64_t)threads + threadIdx.x, step = (int64_t)blocks * threads;
    float sum = 0;
    for (int64_t i = first; i < x_numel; i += step) sum += fabsf(x[i]);
    sum = across_block(sum);
    if (threadIdx.x == 0) {
        meeting->sums[blockIdx.x] = sum;
        __threadfence();
        atomicAdd((unsigned*)&meeting->arrived, 1u);
        while (meeting->arrived < blocks) __nanosleep(100);
        __threadfence();
    }
    __syncthreads();
    float mean = across_block(threadIdx.x < blocks ? meeting->sums[threadIdx.x] : 0.0f) / x_numel;
    for (int64_t i = first; i < x_numel; i += step) out[i] = x[i] / mean;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    if (cudaError_t error = cudaMemsetAsync(scratch, 0, sizeof(Meeting), stream)) return (int)error;
    cudaLaunchAttribute together{};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t how{};
    how.gridDim = blocks;
    how.blockDim = threads;
    how.stream = stream;
    how.attrs = &together;
    how.numAttrs = 1;
    return (int)cudaLaunchKernelEx(&how, normalize, x, out, (volatile Meeting*)scratch);
}
