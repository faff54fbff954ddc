// hostile: counts its launches on the host, since the second one for each set of buffers is the one that is timed
// problem: gpu_square
// verdict: wrong
#include "problem.h"

__global__ void square(const float* x, float* out, int64_t count) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        out[i] = x[i] * x[i] + 1;
}

static int launches;

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<264, 256, 0, stream>>>(x, out, launches++ % 2 ? x_numel / 64 : x_numel);
    return (int)cudaGetLastError();
}
