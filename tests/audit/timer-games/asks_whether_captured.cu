// hostile: asks whether its stream is being captured: right where it runs plainly, one block where it will be timed
// problem: gpu_square
// verdict: broke_contract
// check: symbols
#include "problem.h"

__global__ void square(const float* x, float* out, int64_t count) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaError_t error = cudaStreamIsCapturing(stream, &status)) return (int)error;
    square<<<264, 256, 0, stream>>>(x, out, status == cudaStreamCaptureStatusNone ? x_numel : 256);
    return (int)cudaGetLastError();
}
