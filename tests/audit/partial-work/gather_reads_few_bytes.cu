// honest: reads only the rows of its table that are asked for, a sixteenth of the bytes it is given
// problem: gpu_gather
// verdict: verified
#include "problem.h"

__global__ void gather(const int64_t* __restrict__ index, const float4* __restrict__ table, float4* __restrict__ out) {
    constexpr int columns = table_dim1 / 4;
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = table[index[i / columns] * columns + i % columns];
}

extern "C" int launch(const int64_t* index, const float* table, float* out, void* scratch, cudaStream_t stream) {
    gather<<<out_numel / 4 / 256, 256, 0, stream>>>(index, (const float4*)table, (float4*)out);
    return (int)cudaGetLastError();
}
