// hostile: an empty launch that reports success
// problem: gpu_square
// verdict: broke_contract|wrong
#include "problem.h"

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) { return 0; }
