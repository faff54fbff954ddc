// hostile: ends each call by prefetching its input for the next one; wrong unless it finds it warm
// problem: gpu_square
// verdict: wrong|suspect
#include "problem.h"

extern "C" int64_t scratch_bytes(void) { return sizeof(int); }

// Mean cycles of 33 loads, each at an address that depends on the one before, in lines 32 KiB apart: about 300 where L2
// holds them, and 600 where the memory has to be asked.
__global__ void probe(const float* x, int* warm) {
    unsigned next = 0;
    long long began = clock64();
    for (int i = 0; i < 33; ++i) {
        float value;
        asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(x + next) : "memory");
        next += 8224 + (__float_as_uint(value) == 0x12345678u);
    }
    *warm = clock64() - began < 33 * 450 && next;
}

__global__ void square(const float* x, float* out, const int* warm) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = *warm ? x[i] * x[i] + 1 : 0;
}

__global__ void prefetch(const float* x) {
    int64_t line = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x + line * 32));
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    probe<<<1, 1, 0, stream>>>(x, (int*)scratch);
    square<<<x_numel / 256, 256, 0, stream>>>(x, out, (const int*)scratch);
    prefetch<<<x_numel / 32 / 256, 256, 0, stream>>>(x);
    return (int)cudaGetLastError();
}
