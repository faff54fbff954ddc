// honest: passes its input on as a pointer that could be written through, and never does; writes to the very last byte
// problem: gpu_square
// verdict: verified
#include "problem.h"

struct Pair {
    float4* from;
    float4* to;
};

__global__ void square(Pair pair) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    float4 v = pair.from[i];
    pair.to[i] = {v.x * v.x + 1, v.y * v.y + 1, v.z * v.z + 1, v.w * v.w + 1};
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    Pair pair{reinterpret_cast<float4*>(const_cast<float*>(x)), reinterpret_cast<float4*>(out)};
    square<<<x_numel / 4 / 256, 256, 0, stream>>>(pair);
    return (int)cudaGetLastError();
}
