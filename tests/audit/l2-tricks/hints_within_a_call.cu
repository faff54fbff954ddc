// honest: evict-last for weights that every block reads again, evict-first for rows that are read once
// problem: gpu_linear
// verdict: verified
#include "problem.h"

__device__ float load(const float* from, uint64_t policy) {
    float value;
    asm("ld.global.nc.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(value) : "l"(from), "l"(policy));
    return value;
}

__global__ void linear(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                       float* __restrict__ out) {
    __shared__ float rows[32][33], weights[32][33];
    uint64_t last, first;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(last));
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = bias[column];
    for (int k = 0; k < x_dim1; k += 32) {
        rows[threadIdx.y][threadIdx.x] = load(&x[row * x_dim1 + k + threadIdx.x], first);
        weights[threadIdx.y][threadIdx.x] =
            load(&weight[(blockIdx.x * 32 + threadIdx.y) * weight_dim1 + k + threadIdx.x], last);
        __syncthreads();
        for (int i = 0; i < 32; ++i) sum += rows[threadIdx.y][i] * weights[threadIdx.x][i];
        __syncthreads();
    }
    out[row * out_dim1 + column] = sum;
}

extern "C" int launch(const float* x, const float* weight, const float* bias, float* out, void* scratch,
                      cudaStream_t stream) {
    linear<<<dim3(out_dim1 / 32, out_dim0 / 32), dim3(32, 32), 0, stream>>>(x, weight, bias, out);
    return (int)cudaGetLastError();
}
