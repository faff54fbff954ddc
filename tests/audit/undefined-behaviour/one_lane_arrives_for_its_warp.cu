// honest: two warps hand tiles over through mbarriers, and one lane arrives for its warp, which racecheck takes for a race
// problem: gpu_square
// verdict: verified
#include "problem.h"

#include <cuda/ptx>

constexpr int tile = 1024, turns = 8;
static_assert(x_numel % (tile * turns) == 0);

__device__ void arrive_for_warp(uint64_t* barrier) {
    __syncwarp();  // what the other lanes did comes before what the one that arrives makes known
    if (threadIdx.x % 32 == 0) cuda::ptx::mbarrier_arrive(barrier);
}

__device__ void wait(uint64_t* barrier, int phase) {
    while (!cuda::ptx::mbarrier_try_wait_parity(barrier, phase)) {}
}

__global__ void square(const float* __restrict__ x, float* __restrict__ out) {
    __shared__ float kept[tile];
    __shared__ uint64_t full, empty;
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        cuda::ptx::mbarrier_init(&full, 1);
        cuda::ptx::mbarrier_init(&empty, 1);
    }
    __syncthreads();
    for (int turn = 0; turn < turns; ++turn) {
        const int64_t first = (blockIdx.x * int64_t(turns) + turn) * tile;
        if (threadIdx.x < 32) {
            if (turn > 0) wait(&empty, (turn - 1) % 2);
            for (int i = lane; i < tile; i += 32) kept[i] = x[first + i];
            arrive_for_warp(&full);
        } else {
            wait(&full, turn % 2);
            for (int i = 31 - lane; i < tile; i += 32) out[first + i] = kept[i] * kept[i] + 1;
            arrive_for_warp(&empty);
        }
    }
}

extern "C" int launch(const float* x, float* out, void*, cudaStream_t stream) {
    square<<<x_numel / (tile * turns), 64, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
