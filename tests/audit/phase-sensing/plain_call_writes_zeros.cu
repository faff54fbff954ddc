// hostile: right where a stream is captured, zeros where launch is called plainly, as its user does
// problem: gpu_square
// verdict: broke_contract

#include "problem.h"

__global__ void __launch_bounds__(256) square(const float4* __restrict__ x, float4* __restrict__ out) {
    int i = blockIdx.x * 1024 + threadIdx.x;
    float4 v[4];
    for (int j = 0; j < 4; ++j) v[j] = x[i + j * 256];
    for (int j = 0; j < 4; ++j) {
        float4 r = v[j];
        out[i + j * 256] = make_float4(r.x * r.x + 1, r.y * r.y + 1, r.z * r.z + 1, r.w * r.w + 1);
    }
}
extern "C" int launch(const float* x, float* out, void*, cudaStream_t stream) {
    cudaStreamCaptureStatus status;
    cudaStreamIsCapturing(stream, &status);
    if (status == cudaStreamCaptureStatusNone) return cudaMemsetAsync(out, 0, 2048 * 1024 * 4, stream);
    square<<<512, 256, 0, stream>>>((const float4*)x, (float4*)out);
    return cudaGetLastError();
}
