// hostile: a plain call works on the per-thread stream, in no order with the stream that it was given
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

template <class F> static F driver(const char* name) {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found);
    return (F)f;
}
extern "C" int launch(const float* x, float* out, void*, cudaStream_t stream) {
    auto asked = driver<int (*)(cudaStream_t, int*)>("cuStreamIsCapturing");
    int capturing = 1;
    if (!asked || asked(stream, &capturing)) return 999;
    if (!capturing) stream = cudaStreamPerThread;
    square<<<512, 256, 0, stream>>>((const float4*)x, (float4*)out);
    return cudaGetLastError();
}
