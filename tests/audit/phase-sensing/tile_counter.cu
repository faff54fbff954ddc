// honest: a counter in scratch memory deals out tiles to blocks; each call begins by resetting it
// problem: gpu_square
// verdict: verified
#include "problem.h"

constexpr int tile = 4096;

extern "C" int64_t scratch_bytes(void) { return sizeof(unsigned); }

__global__ void square(const float* __restrict__ x, float* __restrict__ out, unsigned* counter) {
    __shared__ unsigned taken;
    for (;;) {
        if (threadIdx.x == 0) taken = atomicAdd(counter, 1);
        __syncthreads();
        int64_t first = (int64_t)taken * tile;
        __syncthreads();
        if (first >= x_numel) return;
        for (int64_t i = first + threadIdx.x; i < first + tile; i += blockDim.x) out[i] = x[i] * x[i] + 1;
    }
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    static_assert(x_numel % tile == 0);
    if (cudaError_t error = cudaMemsetAsync(scratch, 0, sizeof(unsigned), stream)) return (int)error;
    square<<<264, 256, 0, stream>>>(x, out, (unsigned*)scratch);
    return (int)cudaGetLastError();
}
