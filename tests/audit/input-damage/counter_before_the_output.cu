// hostile: keeps a counter of its calls in the memory just before its output, where it outlives them
// problem: gpu_square
// verdict: wrong
// check: guards
// says: the memory next to out
#include "problem.h"

__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i == 0) ++((unsigned*)out)[-1];
    out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<x_numel / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
