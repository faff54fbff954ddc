// hostile: loads its input with the evict-last hint so that it outlives a flush; wrong unless it finds it warm next time
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
    unsigned long long policy;
    float v;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + i), "l"(policy) : "memory");
    out[i] = *warm ? v * v + 1 : 0;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    probe<<<1, 1, 0, stream>>>(x, (int*)scratch);
    square<<<x_numel / 256, 256, 0, stream>>>(x, out, (const int*)scratch);
    return (int)cudaGetLastError();
}
