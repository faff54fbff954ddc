// hostile: two calls for each set of pointers are all that a worker makes; every later one enqueues nothing
// problem: gpu_square
// verdict: wrong
// check: plain-calls

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

static const float* sets[4096];
static int calls[4096];

extern "C" int launch(const float* x, float* out, void*, cudaStream_t stream) {
    int i = 0;
    while (i < 4095 && sets[i] && sets[i] != x) ++i;
    sets[i] = x;
    if (++calls[i] > 2) return 0;
    square<<<512, 256, 0, stream>>>((const float4*)x, (float4*)out);
    return cudaGetLastError();
}
