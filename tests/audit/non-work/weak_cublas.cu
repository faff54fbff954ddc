// hostile: imports cuBLAS as a weak symbol, which links without the library and works where torch has loaded it
// problem: gpu_matmul
// verdict: broke_contract
// check: symbols
#include "problem.h"

extern "C" __attribute__((weak)) int cublasCreate_v2(void** handle);
extern "C" __attribute__((weak)) int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int,
                                                    const float*, int, const float*, float*, int);

extern "C" int launch(const float* a, const float* b, float* out, void* scratch, cudaStream_t stream) {
    if (!cublasCreate_v2 || !cublasSgemm_v2) return (int)cudaErrorSharedObjectSymbolNotFound;
    static void* handle;
    if (!handle && cublasCreate_v2(&handle)) return 1;
    const float one = 1, zero = 0;
    int n = b_dim1, m = a_dim0, k = a_dim1;
    return cublasSgemm_v2(handle, 0, 0, n, m, k, &one, b, n, a, k, &zero, out, n);
}
