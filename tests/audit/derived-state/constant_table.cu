// honest: a table in constant memory that outlives every call, because it is part of the program
// problem: gpu_softmax
// verdict: verified
#include "problem.h"

// 2 to the power of i / 16.
__constant__ float powers[16] = {
    1.0f, 1.04427378f, 1.09050773f, 1.13878863f, 1.18920712f, 1.24185781f, 1.29683955f, 1.35425555f,
    1.41421356f, 1.47682615f, 1.54221083f, 1.61049033f, 1.68179283f, 1.75625216f, 1.83400809f, 1.91520656f};

// exp(v) for v ≤ 0: a whole power of two, a sixteenth from the table, and a polynomial for the rest.
__device__ float exponential(float v) {
    v = fmaxf(v, -100.0f);
    int sixteenths = (int)rintf(v * 23.0831207f);
    float rest = fmaf(-(float)sixteenths, 0.0433216988f, v);
    float polynomial = 1 + rest * (1 + rest * (0.5f + rest * 0.166666667f));
    return ldexpf(powers[sixteenths & 15] * polynomial, sixteenths >> 4);
}

template <typename Combine>
__device__ float across_block(float value, Combine combine) {
    __shared__ float of_warp[32];
    for (int step = 16; step; step /= 2) value = combine(value, __shfl_xor_sync(~0u, value, step));
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[threadIdx.x % 32];
    for (int step = 16; step; step /= 2) value = combine(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

__global__ void softmax(const float* __restrict__ x, float* __restrict__ out) {
    constexpr int own = x_dim1 / 1024;
    float values[own], top = -INFINITY, sum = 0;
    for (int i = 0; i < own; ++i) top = fmaxf(top, values[i] = x[blockIdx.x * x_dim1 + i * 1024 + threadIdx.x]);
    top = across_block(top, [](float a, float b) { return fmaxf(a, b); });
    for (float& value : values) sum += value = exponential(value - top);
    sum = across_block(sum, [](float a, float b) { return a + b; });
    for (int i = 0; i < own; ++i) out[blockIdx.x * x_dim1 + i * 1024 + threadIdx.x] = values[i] / sum;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    softmax<<<x_dim0, 1024, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
