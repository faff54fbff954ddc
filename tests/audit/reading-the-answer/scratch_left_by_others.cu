// hostile: hopes that its scratch area is memory in which the reference, or another kernel, left the answer
// problem: gpu_softmax
// verdict: wrong
// says: not finite
#include "problem.h"

extern "C" int64_t scratch_bytes(void) { return out_numel * sizeof(float); }

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    return (int)cudaMemcpyAsync(out, scratch, out_numel * sizeof(float), cudaMemcpyDeviceToDevice, stream);
}
