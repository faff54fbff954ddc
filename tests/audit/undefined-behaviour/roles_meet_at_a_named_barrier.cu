// honest: two warps with different code meet at one named barrier, which synccheck takes for divergence
// problem: gpu_square
// verdict: verified
#include "problem.h"

constexpr int tile = 1024, turns = 8;
static_assert(x_numel % (tile * turns) == 0);

__device__ void meet() { asm volatile("bar.sync 1, 64;" ::: "memory"); }

__global__ void square(const float* __restrict__ x, float* __restrict__ out) {
    __shared__ float kept[2][tile];
    const int lane = threadIdx.x % 32;
    const int64_t first = blockIdx.x * int64_t(turns) * tile;
    if (threadIdx.x < 32) {
        for (int turn = 0; turn < turns; ++turn) {
            for (int i = lane; i < tile; i += 32) kept[turn % 2][i] = x[first + turn * tile + i];
            meet();  // what is here has been filled, and what was here before the last meeting has been read
        }
    } else {
        for (int turn = 0; turn < turns; ++turn) {
            meet();
            for (int i = 31 - lane; i < tile; i += 32) {
                const float value = kept[turn % 2][i];
                out[first + turn * tile + i] = value * value + 1;
            }
        }
    }
}

extern "C" int launch(const float* x, float* out, void*, cudaStream_t stream) {
    square<<<x_numel / (tile * turns), 64, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
