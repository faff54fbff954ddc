"""Instructions by class, out of what disassemblers print."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from treesearch.languages import CPP, CUDA, sass, x86
from treesearch.languages.mix import Classes, Mix

SASS = """
Fatbin elf code:
================
arch = sm_90a
	code for sm_90a
		Function : _Z5scalePK6float4PS_
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                  /* 0x00000a00ff017b82 */
                                                                           /* 0x000fe20000000800 */
        /*0010*/                   S2R R0, SR_TID.X ;                      /* 0x0000000000007919 */
        /*0020*/              @!P0 LDG.E.128.CONSTANT R4, [R2.64] ;        /* 0x0000000000007919 */
        /*0030*/                   LDG.E.EF.U16 R4, [R2.64] ;              /* 0x0000000000007919 */
        /*0040*/                   LDG.E R4, [R2.64] ;                     /* 0x0000000000007919 */
        /*0050*/                   FFMA R4, R5, R6, R7 ;                   /* 0x0000000000007919 */
        /*0060*/                   HGMMA.64x256x8.F32.TF32 R24, gdesc[UR4] ; /* 0x0000000000007919 */
        /*0070*/              @UP0 UTMALDG.2D [UR8], [UR4] ;               /* 0x0000000000007919 */
        /*0080*/                   STL [R1], R4 ;                          /* 0x0000000000007919 */
        /*0090*/                   NOP;                                    /* 0x0000000000007918 */
		Function : empty
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   EXIT ;                                  /* 0x0000000000007919 */
"""
OPCODES = {
    "HMMA.16816.F32.BF16": "tensor core HMMA",
    "IMMA.16832.S8.S8": "tensor core IMMA",
    "QGMMA.64x64x32.F32.E4M3.E4M3": "tensor core QGMMA",
    "UTCHMMA": "tensor core UTCHMMA",
    "HFMA2.MMA": "FP16x2",
    "HADD2.F32": "conversion",
    "F2FP.F16.F32.PACK_AB": "conversion",
    "DADD": "FP64",
    "MUFU.EX2": "special function MUFU",
    "LDGSTS.E.BYPASS.128": "cp.async LDGSTS",
    "UBLKCP.S.G": "bulk copy UBLKCP",
    "LDS.64": "shared load 64-bit",
    "LDSM.16.M88.4": "ldmatrix LDSM",
    "STS": "shared store 32-bit",
    "STG.E.EF.64": "global store 64-bit",
    "LDL.LU": "local load (spill or array)",
    "BAR.SYNC.DEFER_BLOCKING 0x0 ": "barrier",
    "BAR.RED.OR.DEFER_BLOCKING 0x0, P0 ": "barrier",
    "BAR.SYNC.DEFER_BLOCKING 0x0, 0x40 ": "named barrier",
    "BAR.SYNC.DEFER_BLOCKING R13, 0x100 ": "named barrier",
    "BAR.RED.AND.DEFER_BLOCKING 0x1, 0x80, P1 ": "named barrier",
    "BAR.ARV 0x4, 0x100 ": "named barrier",
    "SYNCS.PHASECHK.TRANS64.TRYWAIT": "mbarrier",
    "REDG.E.ADD.STRONG.GPU": "atomic",
    "REDUX.MAX": "shuffle or vote",
    "BRA.U.ANY": "branch",
    "IMAD.MOV.U32": "integer or address",
    "UIADD3": "integer or address",
    "VIADDMNMX.U32": "integer or address",
    "NOP": "",
}
INSTRUCTIONS = {
    "vfmadd231ps (%rdi,%rax,1),%zmm1,%zmm2": "FMA 512-bit",
    "vfmadd213ss %xmm1,%xmm2,%xmm3": "FMA scalar",
    "vaddps -0x100(%rdx),%ymm1,%ymm24": "FP arithmetic 256-bit",
    "vcmpltps %zmm6,%zmm24,%k1": "FP arithmetic 512-bit",
    "mulss %xmm1,%xmm0": "FP arithmetic scalar",
    "vhaddps %xmm0,%xmm0,%xmm0": "FP arithmetic 128-bit",
    "vdivps %zmm1,%zmm2,%zmm3": "divide or sqrt 512-bit",
    "vsqrtsd %xmm1,%xmm1,%xmm1": "divide or sqrt scalar",
    "vgatherdps (%rax,%zmm1,4),%zmm2{%k1}": "gather 512-bit",
    "vcvttps2dq %zmm24,%zmm24": "conversion",
    "vmovups 0x40(%rsi),%zmm7": "vector load 512-bit",
    "vbroadcastss 0xe82(%rip),%ymm21": "vector load 256-bit",
    "vmovaps %zmm1,(%rsi)": "vector store 512-bit",
    "vmovups %zmm1,0x40(%rsp)": "vector store 512-bit to the stack",
    "vmovups 0x40(%rsp),%zmm1": "vector load 512-bit from the stack",
    "vmovntps %zmm0,(%rdi)": "non-temporal store 512-bit",
    "vpermps %zmm1,%zmm2,%zmm3": "shuffle or blend 512-bit",
    "vpaddd %zmm1,%zmm2,%zmm3": "integer vector",
    "vmovss (%rdi),%xmm0": "FP load scalar",
    "call 1050 <expf@plt>": "call of expf",
    "call 1200 <helper>": "call",
    "jne 1140 <launch+0x20>": "branch",
    "idiv %rcx": "integer divide",
    "add $0x40,%rax": "scalar integer or move",
    "nopw 0x0(%rax,%rax,1)": "",
}


def counts(mix: Mix) -> dict[str, int]:
    return {count.kind: count.number for count in mix.counts}


def test_sass_is_counted_by_function_and_class() -> None:
    scale, empty = sass.mixes(SASS)
    assert (scale.function, scale.total) == ("scale", 9)
    assert counts(scale) == {
        "constant load": 1,
        "integer or address": 1,
        "global load 128-bit": 1,
        "global load 16-bit": 1,
        "global load 32-bit": 1,
        "FP32 FMA": 1,
        "tensor core HGMMA": 1,
        "bulk copy UTMALDG": 1,
        "local store (spill or array)": 1,
    }
    assert (empty.function, counts(empty)) == ("empty", {"control": 1})


@pytest.mark.parametrize(("opcode", "kind"), OPCODES.items())
def test_opcodes_of_a_gpu_have_their_class(opcode: str, kind: str) -> None:
    assert sass._CLASSES.of(opcode) == kind


@pytest.mark.parametrize(("instruction", "kind"), INSTRUCTIONS.items())
def test_instructions_of_a_cpu_have_their_class(instruction: str, kind: str) -> None:
    assert x86._CLASSES.of(x86._widened(instruction)) == kind


def test_classes_come_in_the_order_of_their_list() -> None:
    mix = Classes([("t(.)", "telling {}"), ("c", "common")], other="rest").mix("f", ["c", "x", "c", "t1", "t2", "t2"])
    counted = [(count.kind, count.number) for count in mix.counts]
    assert counted == [("telling 2", 2), ("telling 1", 1), ("common", 2), ("rest", 1)]


def test_what_is_no_listing_has_no_functions() -> None:
    assert sass.mixes("cuobjdump info: File does not contain device code\n") == ()
    assert x86.mixes("objdump: kernel.so: file format not recognized\n") == ()


CALLS = """\
#include <math.h>
namespace { template <int n> __attribute__((noinline)) void each(const float* x, float* out) {
    for (int i = 0; i < n; ++i) out[i] = expf(x[i]);
} }
extern "C" int launch(const float* x, float* out) {
    #pragma omp parallel for
    for (int i = 0; i < 64; ++i) out[i] = 2 * x[i];
    each<4096>(x, out);
    return 0;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="mixes are read of x86-64 code")
def test_a_real_library_shows_its_openmp_body_and_what_it_calls(tmp_path: Path) -> None:
    compiler, tool = CPP.compiler(), shutil.which("objdump")
    if compiler is None or tool is None:
        pytest.skip("g++ or objdump was not found")
    (tmp_path / "kernel.cpp").write_text(CALLS)
    library = tmp_path / "kernel.so"
    flags = ["-O3", "-march=haswell", "-fopenmp", "-fPIC", "-shared", "-fno-math-errno"]
    subprocess.run([compiler, *flags, str(tmp_path / "kernel.cpp"), "-o", str(library)], check=True)
    shown = subprocess.run(x86.OBJDUMP.command(tool, library), capture_output=True, text=True, check=True)
    found = {mix.function: counts(mix) for mix in x86.mixes(shown.stdout)}
    assert set(found) == {"launch", "launch._omp_fn.0", "(anonymous namespace)::each<4096>"}
    assert found["(anonymous namespace)::each<4096>"]["call of expf"] >= 1
    assert found["launch"]["call of GOMP_parallel"] == 1
    assert any(kind.endswith("256-bit") for kind in found["launch._omp_fn.0"])


@pytest.mark.nvcc
def test_a_real_cuda_library_shows_its_widest_loads(tmp_path: Path) -> None:
    tool, compiler = sass.CUOBJDUMP.tool(), CUDA.compiler()
    if tool is None or compiler is None:
        pytest.skip("cuobjdump was not found")
    source = (
        "__global__ void twice(const float4* x, float4* y) { float4 v = x[threadIdx.x]; v.x *= 2; y[threadIdx.x] = v; }"
    )
    (tmp_path / "kernel.cu").write_text(source)
    library = tmp_path / "kernel.so"
    flags = ["-arch=sm_90a", "-Xcompiler", "-fPIC", "-shared", "-cudart", "none"]
    subprocess.run([compiler, *flags, str(tmp_path / "kernel.cu"), "-o", str(library)], check=True)
    shown = subprocess.run(sass.CUOBJDUMP.command(tool, library), capture_output=True, text=True, check=True)
    (found,) = sass.mixes(shown.stdout)
    assert found.function == "twice"
    assert counts(found)["global load 128-bit"] == counts(found)["global store 128-bit"] == 1
