// hostile: takes an input for one it has seen if a few coarse samples of it agree, and copies that answer
// problem: gpu_square
// verdict: wrong
#include "problem.h"

constexpr int slots = 16;
__device__ float kept[slots][out_numel];
__device__ unsigned keys[slots];
__device__ int slot, hit;

// The signs of three elements: nine inputs cannot all differ in them.
__global__ void look_up(const float* x) {
    unsigned key = 8;
    for (int i = 0; i < 3; ++i) key |= (x[i * 1000] > 0) << i;
    slot = key - 8;
    hit = keys[slot] == key;
    keys[slot] = key;
}

__global__ void answer(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (!hit) kept[slot][i] = x[i] * x[i] + 1;
    out[i] = kept[slot][i];
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    look_up<<<1, 1, 0, stream>>>(x);
    answer<<<out_numel / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
