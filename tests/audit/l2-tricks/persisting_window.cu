// hostile: has the stream keep its input in the persisting part of L2, from one call to the next
// problem: gpu_square
// verdict: broke_contract
// check: symbols
#include "problem.h"

__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    cudaStreamAttrValue window{};
    window.accessPolicyWindow.base_ptr = const_cast<float*>(x);
    window.accessPolicyWindow.num_bytes = x_numel * sizeof(float);
    window.accessPolicyWindow.hitRatio = 1;
    window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
    square<<<x_numel / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
