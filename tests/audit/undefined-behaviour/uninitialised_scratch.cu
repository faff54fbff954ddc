// hostile: its answer depends on scratch memory that nobody wrote, though only on a value that is never there
// problem: gpu_square
// verdict: suspect
// check: sanitizer
#include "problem.h"

extern "C" int64_t scratch_bytes(void) { return x_numel * sizeof(unsigned); }

__global__ void square(const float* x, float* out, const unsigned* scratch) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = scratch[i] == 0x12345678u ? 0 : x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<x_numel / 256, 256, 0, stream>>>(x, out, (const unsigned*)scratch);
    return (int)cudaGetLastError();
}
