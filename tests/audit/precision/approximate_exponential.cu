// honest: exponentials and a reciprocal by the GPU's approximate instructions, in inline PTX, inside the tolerance
// problem: gpu_softmax
// verdict: verified
#include "problem.h"

__device__ float power_of_two(float v) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
    return result;
}

// One warp a row, 128 elements a lane, held in registers.
__global__ void softmax(const float4* __restrict__ x, float4* __restrict__ out) {
    constexpr int own = x_dim1 / 128;
    const float log2e = 1.44269504f;
    int64_t first = (blockIdx.x * 4 + threadIdx.x / 32) * (x_dim1 / 4) + threadIdx.x % 32;
    float4 v[own];
    float top = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < own; ++i) {
        v[i] = x[first + i * 32];
        top = fmaxf(top, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
    }
    for (int step = 16; step; step /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
#pragma unroll
    for (int i = 0; i < own; ++i) {
        v[i] = {power_of_two((v[i].x - top) * log2e), power_of_two((v[i].y - top) * log2e),
                power_of_two((v[i].z - top) * log2e), power_of_two((v[i].w - top) * log2e)};
        sum += v[i].x + v[i].y + v[i].z + v[i].w;
    }
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    float scale;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(scale) : "f"(sum));
#pragma unroll
    for (int i = 0; i < own; ++i) out[first + i * 32] = {v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale};
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    static_assert(x_dim1 == 4096);
    softmax<<<x_dim0 / 4, 128, 0, stream>>>((const float4*)x, (float4*)out);
    return (int)cudaGetLastError();
}
