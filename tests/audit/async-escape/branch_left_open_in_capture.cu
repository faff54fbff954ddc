// hostile: forks the capture with an event into a second stream and never joins it, through the driver's own functions
// problem: gpu_square
// verdict: broke_contract|crashed
#include "problem.h"

#include <cuda.h>

template <typename Function>
static Function driver(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
    return (Function)found;
}

__global__ void square(const float* x, float* out, int64_t count) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        out[i] = x[i] * x[i] + 1;
}

static CUstream aside;
static CUevent fork_point;

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    if (!aside) {
        if (driver<CUresult (*)(CUstream*, unsigned)>("cuStreamCreate")(&aside, CU_STREAM_NON_BLOCKING)) return 1;
        if (driver<CUresult (*)(CUevent*, unsigned)>("cuEventCreate")(&fork_point, CU_EVENT_DISABLE_TIMING)) return 1;
    }
    if (driver<CUresult (*)(CUevent, CUstream)>("cuEventRecord")(fork_point, stream)) return 1;
    if (driver<CUresult (*)(CUstream, CUevent, unsigned)>("cuStreamWaitEvent")(aside, fork_point, 0)) return 1;
    square<<<264, 256, 0, aside>>>(x, out, x_numel);
    square<<<1, 256, 0, stream>>>(x, out, 256);
    return (int)cudaGetLastError();
}
