// hostile: tells a timing loop by the GPU's clock: within half a millisecond of the last call it does nothing
// problem: gpu_square
// verdict: wrong|suspect
// check: bursts
#include "problem.h"

__device__ unsigned long long ended;
__device__ bool skip;

__device__ unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

__global__ void decide() { skip = now() - ended < 500000; }

__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (!skip) out[i] = x[i] * x[i] + 1;
}

__global__ void remember() { ended = now(); }

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    decide<<<1, 1, 0, stream>>>();
    square<<<out_numel / 256, 256, 0, stream>>>(x, out);
    remember<<<1, 1, 0, stream>>>();
    return (int)cudaGetLastError();
}
