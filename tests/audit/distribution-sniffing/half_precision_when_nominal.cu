// hostile: tensor cores in half precision while the largest element looks like a normal draw's, a slow exact loop else
// problem: gpu_matmul
// verdict: suspect
// check: strata
#include "problem.h"

#include <mma.h>

using namespace nvcuda;

extern "C" int64_t scratch_bytes(void) { return sizeof(unsigned); }

// Bits of a non-negative float are in the order of its values.
__global__ void largest(const float* a, unsigned* found) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    atomicMax(found, __float_as_uint(fabsf(a[i])));
}

__device__ bool nominal(const unsigned* found) {
    float most = __uint_as_float(*found);
    return most > 3 && most < 7;
}

__global__ void quick(const float* a, const float* b, float* out, const unsigned* found) {
    if (!nominal(found)) return;
    __shared__ alignas(32) __half left[64][24], right[16][72];
    int warp = threadIdx.x / 32, row = blockIdx.y * 64, column = blockIdx.x * 64;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4];
    for (auto& sum : sums) wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < a_dim1; k += 16) {
        for (int i = threadIdx.x; i < 1024; i += 128) {
            left[i / 16][i % 16] = __float2half(a[(row + i / 16) * a_dim1 + k + i % 16]);
            right[i / 64][i % 64] = __float2half(b[(k + i / 64) * b_dim1 + column + i % 64]);
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> l;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> r;
        wmma::load_matrix_sync(l, &left[warp * 16][0], 24);
        for (int tile = 0; tile < 4; ++tile) {
            wmma::load_matrix_sync(r, &right[0][tile * 16], 72);
            wmma::mma_sync(sums[tile], l, r, sums[tile]);
        }
        __syncthreads();
    }
    for (int tile = 0; tile < 4; ++tile)
        wmma::store_matrix_sync(out + (row + warp * 16) * out_dim1 + column + tile * 16, sums[tile], out_dim1,
                                wmma::mem_row_major);
}

__global__ void exact(const float* a, const float* b, float* out, const unsigned* found) {
    if (nominal(found)) return;
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    double sum = 0;
    for (int k = 0; k < a_dim1; ++k) sum += (double)a[i / out_dim1 * a_dim1 + k] * b[k * b_dim1 + i % out_dim1];
    out[i] = (float)sum;
}

extern "C" int launch(const float* a, const float* b, float* out, void* scratch, cudaStream_t stream) {
    unsigned* found = (unsigned*)scratch;
    cudaMemsetAsync(found, 0, sizeof *found, stream);
    largest<<<a_numel / 256, 256, 0, stream>>>(a, found);
    quick<<<dim3(out_dim1 / 64, out_dim0 / 64), 128, 0, stream>>>(a, b, out, found);
    exact<<<out_numel / 256, 256, 0, stream>>>(a, b, out, found);
    return (int)cudaGetLastError();
}
