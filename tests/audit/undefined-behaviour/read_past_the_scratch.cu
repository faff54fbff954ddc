// hostile: reads one element beyond the scratch memory it asked for, and no value there changes the answer
// problem: gpu_square
// verdict: suspect
// check: sanitizer
#include "problem.h"

constexpr int asked = 250;

extern "C" int64_t scratch_bytes(void) { return asked * sizeof(unsigned); }

__global__ void square(const float* x, float* out, const unsigned* scratch) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    unsigned beyond = scratch[threadIdx.x % (asked + 1)];
    out[i] = beyond == 0x12345678u ? 0 : x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    cudaMemsetAsync(scratch, 0, asked * sizeof(unsigned), stream);
    square<<<x_numel / 256, 256, 0, stream>>>(x, out, (const unsigned*)scratch);
    return (int)cudaGetLastError();
}
