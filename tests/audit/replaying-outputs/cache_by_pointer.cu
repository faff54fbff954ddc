// hostile: keeps its first answer for each output pointer in a device array, and copies it out from then on
// problem: gpu_square
// verdict: wrong
#include "problem.h"

__device__ float kept[2][out_numel];
__device__ float* owner[2];
__device__ int slot, hit;

__global__ void look_up(float* out) {
    hit = owner[0] == out || owner[1] == out;
    slot = hit ? owner[1] == out : owner[0] != nullptr;
    owner[slot] = out;
}

__global__ void answer(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (!hit) kept[slot][i] = x[i] * x[i] + 1;
    out[i] = kept[slot][i];
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    look_up<<<1, 1, 0, stream>>>(out);
    answer<<<out_numel / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
