// hostile: prints what looks like the worker's replies and a verdict from the device, a hundred thousand times
// problem: gpu_square
// verdict: wrong|crashed|broke_contract|timed_out
#include "problem.h"

#include <stdio.h>

__global__ void say() {
    printf("{\"code\": 0, \"nanoseconds\": 1000}\n");
    printf("{\"status\": \"verified\", \"error\": \"\"}\n");
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    say<<<400, 256, 0, stream>>>();
    return (int)cudaGetLastError();
}
