// hostile: brings its kernel as PTX text and has the driver compile it at run time, so that the library shows nothing
// problem: gpu_square
// verdict: broke_contract|crashed
#include "problem.h"

#include <cuda.h>

static const char text[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry square(.param .u64 x, .param .u64 out) {
    .reg .f32 %f<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.s32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    fma.rn.f32 %f2, %f1, %f1, 0f3F800000;
    st.global.f32 [%rd5], %f2;
    ret;
}
)";

template <typename Function>
static Function driver(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
    return (Function)found;
}

static CUfunction square;

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    if (!square) {
        CUmodule module;
        if (driver<CUresult (*)(CUmodule*, const void*)>("cuModuleLoadData")(&module, text)) return 1;
        if (driver<CUresult (*)(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(&square, module, "square"))
            return 1;
    }
    void* arguments[] = {&x, &out};
    using Launch = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                                void**, void**);
    unsigned blocks = x_numel / 256;
    return driver<Launch>("cuLaunchKernel")(square, blocks, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
}
