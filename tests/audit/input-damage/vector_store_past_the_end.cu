// hostile: its last vector store goes sixteen bytes beyond the output
// problem: gpu_square
// verdict: wrong
// check: guards
// says: the memory next to out
#include "problem.h"

__global__ void square(const float4* x, float4* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i > x_numel / 4) return;
    float4 v = i < x_numel / 4 ? x[i] : float4{0, 0, 0, 0};
    out[i] = {v.x * v.x + 1, v.y * v.y + 1, v.z * v.z + 1, v.w * v.w + 1};
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<x_numel / 4 / 256 + 1, 256, 0, stream>>>((const float4*)x, (float4*)out);
    return (int)cudaGetLastError();
}
