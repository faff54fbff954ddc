// honest: prefetches into L2 what the same launch reads next, and streams its output past the caches
// problem: gpu_square
// verdict: verified
#include "problem.h"

__global__ void square(const float4* __restrict__ x, float4* __restrict__ out) {
    int64_t step = (int64_t)gridDim.x * blockDim.x, count = x_numel / 4;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += step) {
        if (i + step < count) asm volatile("prefetch.global.L2 [%0];" ::"l"(x + i + step));
        float4 v;
        asm("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
            : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x + i));
        __stcs(out + i, float4{v.x * v.x + 1, v.y * v.y + 1, v.z * v.z + 1, v.w * v.w + 1});
    }
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<264, 512, 0, stream>>>((const float4*)x, (float4*)out);
    return (int)cudaGetLastError();
}
