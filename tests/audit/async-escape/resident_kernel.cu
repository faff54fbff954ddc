// hostile: leaves a kernel running on another stream that serves every later call, whose own graph only raises a flag
// problem: gpu_square
// verdict: timed_out|crashed|broke_contract
#include "problem.h"

struct Mailbox {
    const float* x;
    float* out;
    unsigned asked;
};
__device__ volatile Mailbox mailbox;

__global__ void serve() {
    unsigned seen = 0;
    for (;;) {
        unsigned asked = mailbox.asked;
        if (asked == seen) continue;
        __threadfence();
        const float* x = mailbox.x;
        float* out = mailbox.out;
        for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < x_numel; i += (int64_t)gridDim.x * blockDim.x)
            out[i] = x[i] * x[i] + 1;
        seen = asked;
    }
}

__global__ void ask(const float* x, float* out) {
    mailbox.x = x;
    mailbox.out = out;
    __threadfence();
    mailbox.asked = mailbox.asked + 1;
}

static bool started;

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    if (!started) serve<<<66, 256, 0, cudaStreamPerThread>>>();
    started = true;
    ask<<<1, 1, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
