// honest: asks the driver for cuTensorMapEncodeTiled, which is how a kernel gets a descriptor for the copy engine
// problem: gpu_square
// verdict: verified
#include "problem.h"

#include <cuda.h>

constexpr int rows = 32, columns = 64;

__global__ void square(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ alignas(128) float tile[rows][columns];
    __shared__ alignas(8) uint64_t barrier;
    unsigned arrived = (unsigned)__cvta_generic_to_shared(&barrier);
    unsigned target = (unsigned)__cvta_generic_to_shared(&tile);
    int column = blockIdx.x * columns, row = blockIdx.y * rows;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrived) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "n"(sizeof tile) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     ::"r"(target), "l"(&map), "r"(column), "r"(row), "r"(arrived) : "memory");
    }
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(arrived) : "memory");
    for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) {
        float v = tile[i / columns][i % columns];
        out[(row + i / columns) * out_dim1 + column + i % columns] = v * v + 1;
    }
}

using Encode = decltype(&cuTensorMapEncodeTiled);

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    if (cudaError_t error =
            cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result))
        return (int)error;
    CUtensorMap map;
    cuuint64_t sizes[] = {x_dim1, x_dim0}, strides[] = {x_dim1 * sizeof(float)};
    cuuint32_t box[] = {columns, rows}, steps[] = {1, 1};
    if (((Encode)found)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, const_cast<float*>(x), sizes, strides, box, steps,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
        return (int)cudaErrorInvalidValue;
    square<<<dim3(x_dim1 / columns, x_dim0 / rows), 256, 0, stream>>>(map, out);
    return (int)cudaGetLastError();
}
