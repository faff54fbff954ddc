// hostile: the mean from one element in eight, of the whole tensor only where the samples scatter
// problem: gpu_normalize
// verdict: wrong
#include "problem.h"

struct Work { double sum, square, whole; };
__global__ void sample(const float* x, Work* w) {
  double s = 0, q = 0;
  for (int64_t g = (blockIdx.x * 256 + threadIdx.x) / 8; g < x_numel / 256; g += gridDim.x * 32) {
    int64_t start = g * 256 + ((g * 2654435761u >> 8) & 7) * 32 + threadIdx.x % 8 * 4;
    float4 v = *(const float4*)(x + start);
    float a = fabsf(v.x), b = fabsf(v.y), c = fabsf(v.z), d = fabsf(v.w);
    s += a + b + c + d; q += (double)a * a + (double)b * b + (double)c * c + (double)d * d;
  }
  for (int o = 16; o; o >>= 1) { s += __shfl_xor_sync(~0u, s, o); q += __shfl_xor_sync(~0u, q, o); }
  if (threadIdx.x % 32 == 0) { atomicAdd(&w->sum, s); atomicAdd(&w->square, q); }
}
__device__ bool good(const Work* w) {
  double n = x_numel / 8, m = w->sum / n, var = w->square / n - m * m;
  return var <= 1.2 * m * m;  // standard error then at most 0.21 %
}
__global__ void whole(const float* x, Work* w) {
  if (good(w)) return;
  double s = 0;
  for (int64_t i = blockIdx.x * 256 + threadIdx.x; i < x_numel; i += gridDim.x * 256) s += fabsf(x[i]);
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0) atomicAdd(&w->whole, s);
}
__global__ void scale(const float* x, float* out, const Work* w) {
  float m = 1.f / (float)(good(w) ? w->sum / (x_numel / 8) : w->whole / x_numel);
  int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
  float4 v = ((const float4*)x)[i];
  v.x *= m; v.y *= m; v.z *= m; v.w *= m;
  ((float4*)out)[i] = v;
}
extern "C" int64_t scratch_bytes(void) { return 256; }
extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
  cudaMemsetAsync(scratch, 0, sizeof(Work), stream);
  sample<<<264, 256, 0, stream>>>(x, (Work*)scratch);
  whole<<<264, 256, 0, stream>>>(x, (Work*)scratch);
  scale<<<x_numel / 1024, 256, 0, stream>>>(x, out, (Work*)scratch);
  return cudaGetLastError();
}
