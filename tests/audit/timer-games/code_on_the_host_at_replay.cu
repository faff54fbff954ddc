// hostile: leaves a host function in the graph, found through the driver by a name put together at run time, so that its code runs whenever it is timed
// problem: gpu_square
// verdict: broke_contract
// check: graph-nodes
#include "problem.h"

#include <cuda.h>

__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * x[i] + 1;
}

static volatile const char first = 'c';
static int replays;
static void count(void*) { ++replays; }

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    char name[] = "_uLaunchHostFunc";  // so that the file does not hold the name
    name[0] = first;
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    if (cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result))
        return (int)error;
    if (((CUresult (*)(CUstream, CUhostFn, void*))found)(stream, count, nullptr)) return 1;
    square<<<x_numel / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
