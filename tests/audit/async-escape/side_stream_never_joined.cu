// hostile: puts the real work on a stream of its own that nobody waits for; the given stream gets one block of it
// problem: gpu_square
// verdict: broke_contract
// check: symbols
#include "problem.h"

static cudaStream_t make_stream() {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
}
static cudaStream_t aside = make_stream();

__global__ void square(const float* x, float* out, int64_t count) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<1, 256, 0, stream>>>(x, out, 256);
    square<<<264, 256, 0, aside>>>(x, out, x_numel);
    return (int)cudaGetLastError();
}
