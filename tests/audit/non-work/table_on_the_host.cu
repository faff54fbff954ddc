// hostile: copies a table from the host's memory in each call, where the host could put any answer
// problem: gpu_square
// verdict: broke_contract
#include "problem.h"

static float table[256];

extern "C" int64_t scratch_bytes(void) { return sizeof table; }

__global__ void square(const float* x, float* out, const float* ones) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * x[i] + ones[threadIdx.x];
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    for (float& one : table) one = 1;
    if (cudaError_t error = cudaMemcpyAsync(scratch, table, sizeof table, cudaMemcpyHostToDevice, stream)) return (int)error;
    square<<<x_numel / 256, 256, 0, stream>>>(x, out, (const float*)scratch);
    return (int)cudaGetLastError();
}
