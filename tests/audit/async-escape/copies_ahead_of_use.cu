// honest: copies that go on in the background (cp.async) while the tile before is used, each waited for
// problem: gpu_matmul
// verdict: verified
#include "problem.h"

#include <cuda_pipeline.h>

constexpr int size = 32;

struct Tiles {
    float left[size][size], right[size][size];
};

// 256 threads copy one float4 of each tile.
__device__ void fetch(Tiles& tiles, const float* a, const float* b, int k) {
    int line = threadIdx.x / 8, four = threadIdx.x % 8 * 4;
    __pipeline_memcpy_async(&tiles.left[line][four], &a[(blockIdx.y * size + line) * a_dim1 + k + four], 16);
    __pipeline_memcpy_async(&tiles.right[line][four], &b[(k + line) * b_dim1 + blockIdx.x * size + four], 16);
    __pipeline_commit();
}

__global__ void multiply(const float* a, const float* b, float* out) {
    __shared__ alignas(16) Tiles tiles[2];
    int column = threadIdx.x % 32, first = threadIdx.x / 32 * 4;
    float sums[4] = {};
    fetch(tiles[0], a, b, 0);
    for (int k = 0; k < a_dim1; k += size) {
        const Tiles& now = tiles[k / size % 2];
        if (k + size < a_dim1) fetch(tiles[(k / size + 1) % 2], a, b, k + size);
        __pipeline_wait_prior(k + size < a_dim1 ? 1 : 0);
        __syncthreads();
        for (int i = 0; i < size; ++i)
            for (int row = 0; row < 4; ++row) sums[row] += now.left[first + row][i] * now.right[i][column];
        __syncthreads();
    }
    for (int row = 0; row < 4; ++row)
        out[(blockIdx.y * size + first + row) * out_dim1 + blockIdx.x * size + column] = sums[row];
}

extern "C" int launch(const float* a, const float* b, float* out, void* scratch, cudaStream_t stream) {
    multiply<<<dim3(out_dim1 / size, out_dim0 / size), 256, 0, stream>>>(a, b, out);
    return (int)cudaGetLastError();
}
