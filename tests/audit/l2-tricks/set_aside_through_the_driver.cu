// hostile: sets L2 aside through the driver and marks its launches as persisting; wrong unless the input stayed warm
// problem: gpu_square
// verdict: wrong|broke_contract|suspect|crashed
#include "problem.h"

#include <cuda.h>

extern "C" int64_t scratch_bytes(void) { return sizeof(int); }

// Mean cycles of 33 loads, each at an address that depends on the one before, in lines 32 KiB apart: about 300 where L2
// holds them, and 600 where the memory has to be asked.
__global__ void probe(const float* x, int* warm) {
    unsigned next = 0;
    long long began = clock64();
    for (int i = 0; i < 33; ++i) {
        float value;
        asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(x + next) : "memory");
        next += 8224 + (__float_as_uint(value) == 0x12345678u);
    }
    *warm = clock64() - began < 33 * 450 && next;
}

__global__ void square(const float* x, float* out, const int* warm) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = *warm ? x[i] * x[i] + 1 : 0;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    static bool set_aside;
    void* limit = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion("cuCtxSetLimit", &limit, 12000, cudaEnableDefault, &result);
    if (!set_aside && (!limit || ((CUresult (*)(CUlimit, size_t))limit)(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 24 << 20)))
        return 1;
    set_aside = true;
    probe<<<1, 1, 0, stream>>>(x, (int*)scratch);
    cudaLaunchAttribute window{};
    window.id = cudaLaunchAttributeAccessPolicyWindow;
    window.val.accessPolicyWindow.base_ptr = const_cast<float*>(x);
    window.val.accessPolicyWindow.num_bytes = x_numel * sizeof(float);
    window.val.accessPolicyWindow.hitRatio = 1;
    window.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    window.val.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    cudaLaunchConfig_t how{};
    how.gridDim = x_numel / 256;
    how.blockDim = 256;
    how.stream = stream;
    how.attrs = &window;
    how.numAttrs = 1;
    return (int)cudaLaunchKernelEx(&how, square, x, out, (const int*)scratch);
}
