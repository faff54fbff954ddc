// hostile: reads on behind its output, where an allocator often puts the reference's result
// problem: gpu_softmax
// verdict: crashed|wrong
#include "problem.h"

__global__ void copy(float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = out[i + 4 * out_numel];
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    copy<<<out_numel / 256, 256, 0, stream>>>(out);
    return (int)cudaGetLastError();
}
