// honest: half-precision operands on tensor cores, whose rounding stays well inside the tolerance
// problem: gpu_matmul
// verdict: verified
#include "problem.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int depth = 16;

__global__ void multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out) {
    __shared__ alignas(32) __half left[64][depth + 8], right[depth][72];
    int warp = threadIdx.x / 32, row = blockIdx.y * 64, column = blockIdx.x * 64;
    wmma::fragment<wmma::accumulator, 16, 16, depth, float> sums[4];
    for (auto& sum : sums) wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < a_dim1; k += depth) {
        for (int i = threadIdx.x; i < 64 * depth; i += blockDim.x) {
            left[i / depth][i % depth] = __float2half(a[(row + i / depth) * a_dim1 + k + i % depth]);
            right[i / 64][i % 64] = __float2half(b[(k + i / 64) * b_dim1 + column + i % 64]);
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, depth, __half, wmma::row_major> l;
        wmma::fragment<wmma::matrix_b, 16, 16, depth, __half, wmma::row_major> r;
        wmma::load_matrix_sync(l, &left[warp * 16][0], depth + 8);
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

extern "C" int launch(const float* a, const float* b, float* out, void* scratch, cudaStream_t stream) {
    multiply<<<dim3(out_dim1 / 64, out_dim0 / 64), 128, 0, stream>>>(a, b, out);
    return (int)cudaGetLastError();
}
