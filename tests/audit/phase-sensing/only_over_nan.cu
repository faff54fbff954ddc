// hostile: writes an element only where it finds NaN, as a harness leaves it; where it is used, old answers stay
// problem: gpu_square
// verdict: wrong
#include "problem.h"

__global__ void square(const float* __restrict__ x, float* out) {
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i < out_numel && isnan(out[i])) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*, cudaStream_t stream) {
    square<<<(out_numel + 255) / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
