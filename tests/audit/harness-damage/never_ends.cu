// hostile: a kernel that never ends
// problem: gpu_square
// verdict: timed_out
#include "problem.h"

__global__ void wait(const float* x, volatile float* out) {
    while (out[0] != x[0] + 1e30f) {
    }
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    wait<<<1, 32, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
