"""What a built library may have the loader look up: honest kernels' imports pass, others are named and refused."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.problem.conftest import source_of
from treesearch import problem, resources
from treesearch.evaluation import elf
from treesearch.evaluation.build import build
from treesearch.evaluation.checks import Check
from treesearch.evaluation.imports import calls_library, refused
from treesearch.languages import CPP, CUDA, Language, of_file
from treesearch.languages.module import MODULE
from treesearch.lineage import Lineage
from treesearch.records import Problem

pytestmark = [pytest.mark.compiler, pytest.mark.untimed]
EXAMPLES = Path(__file__).parents[2] / "examples"
RECORDED = (("bias_silu_clamp", "cpp"), ("softmax_small", "cpp"), ("layernorm", "cuda"))
DECLARED = "#include <stdint.h>\n#include <stddef.h>\n"

Reason = Callable[..., str]


def library_of(subject: Problem, source: str, language: Language = CPP) -> Path:
    built = build(subject, language, source)
    assert built.library is not None, built.error
    return built.library


def cpp(body: str, before: str = "") -> str:
    """A kernel with a body of its own, and declarations before it."""
    launch = f'extern "C" int launch(const float* x, float* out, void* scratch) {{\n{body}\nreturn 0; }}'
    return f'#include "problem.h"\n{before}\n{launch}\n'


def cuda(body: str, before: str = "") -> str:
    kernel = "__global__ void fill(float* out) { out[threadIdx.x] = 1; }"
    launch = (
        'extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {\n'
        f"{body}\nfill<<<1, 32, 0, stream>>>(out);\nreturn (int)cudaGetLastError(); }}"
    )
    return f'#include "problem.h"\n{before}\n{kernel}\n{launch}\n'


@pytest.fixture
def reason(tiny_problem: Problem) -> Reason:
    """Why a kernel for the tiny problem is refused, or nothing."""

    def judge(source: str, language: Language = CPP, *without: Check) -> str:
        return refused(library_of(tiny_problem, source, language), language, tiny_problem, frozenset(without))

    return judge


# ── honest ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.nvcc
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.c*")), ids=lambda path: path.name)
def test_shipped_examples_pass(path: Path) -> None:
    subject, language = problem.load(path.stem), of_file(path)
    library = library_of(subject, path.read_text(), language)
    assert refused(library, language, subject) == ""
    assert not calls_library(library, subject)


@pytest.mark.nvcc
@pytest.mark.parametrize(("name", "language"), RECORDED, ids=[name for name, _ in RECORDED])
def test_the_fastest_recorded_kernels_pass(name: str, language: str) -> None:
    from treesearch.archive import Archive  # here, for a machine that runs the tests of GPUs alone has no archives

    spoken = {"cpp": CPP, "cuda": CUDA}[language]
    with Archive(resources.record(), read_only=True) as archive:
        wanted = (name, language)
        run = next(run for run in archive.runs() if (run.problem_name, run.config.language) == wanted)
        winner = Lineage(archive.entries(run.id)).fastest()
        assert winner is not None
        assert winner.kernel.source is not None
    subject = problem.load(name)
    assert refused(library_of(subject, winner.kernel.source, spoken), spoken, subject) == ""


HONEST = {
    "memory and text": "void* p = calloc(4, 8); p = realloc(p, 64); memset(p, 1, 64); char t[32];"
    ' snprintf(t, sizeof t, "%zu", strlen("abc")); out[0] = atof(t); free(p);',
    "printing": 'printf("%f\\n", out[0]); fflush(stdout); fprintf(stderr, "%d\\n", (int)x[0]);',
    "mathematics": "for (int i = 0; i < 64; ++i) out[i] = tanhf(x[i]) + erff(x[i]) + lgamma(x[i]) + pow(x[i], 3);",
    "wide arithmetic": "__int128 a = (__int128)x[0] * 77; out[0] = (float)(a / (__int128)(x[1] + 2)); "
    "__float128 q = x[0]; out[1] = (double)(q * q);",
    "containers": "std::vector<float> v(x, x + 64); std::map<std::string, int> m; m[std::to_string(v[0])] = 1;"
    " std::sort(v.begin(), v.end()); std::unordered_map<int, int> h; h[3] = 4; out[0] = v[m.size() + h.size()];",
    "threads": "std::mutex m; std::once_flag f; std::thread t([&] { std::lock_guard held(m); out[0] = 1; });"
    " std::call_once(f, [] {}); t.join(); auto later = std::async(std::launch::async, [] { return 2; }); out[1] ="
    " later.get(); std::condition_variable c; c.notify_all(); std::atomic<int> a{3}; out[2] = a.load();",
    "exceptions": 'try { if (x[0] > 2) throw std::runtime_error("no"); } catch (const std::exception& e) { return 3; }',
    "streams": "std::ostringstream s; s << std::setprecision(3) << x[0]; std::cout << s.str() << std::endl;",
    "tasks": "#pragma omp parallel\n#pragma omp single\n#pragma omp taskloop\nfor (int i = 0; i < 9; ++i) out[i] = 1;"
    "\nout[0] = omp_get_max_threads();",
    "random numbers of its own": "std::mt19937 g(7); std::normal_distribution<float> d; out[0] = d(g);",
}
HEADERS = (
    "algorithm atomic cmath condition_variable cstdio cstdlib cstring future iomanip iostream map mutex omp.h random "
    "sstream stdexcept string thread unordered_map vector"
)
INCLUDED = "".join(f"#include <{header}>\n" for header in HEADERS.split())


@pytest.mark.parametrize("name", HONEST)
def test_what_a_kernel_has_a_use_for_passes(reason: Reason, name: str) -> None:
    assert reason(cpp(HONEST[name], INCLUDED)) == ""


def test_variants_of_a_function_for_several_processors_pass(reason: Reason) -> None:
    clones = '__attribute__((target_clones("avx2", "default"))) float twice(float v) { return 2 * v; }'
    assert reason(cpp("out[0] = twice(x[0]);", clones)) == ""


@pytest.mark.nvcc
def test_what_a_launch_has_a_use_for_passes(reason: Reason) -> None:
    body = """
        cudaMemsetAsync(out, 0, 64, stream); cudaMemcpyAsync(out, x, 64, cudaMemcpyDeviceToDevice, stream);
        int device, count; cudaGetDevice(&device);
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
        cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, fill, 32, 0);
        void* found; cudaDriverEntryPointQueryResult how;
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &how);
        void* table; cudaGetSymbolAddress(&table, weights);"""
    before = "__constant__ float weights[64]; __device__ int first(int v) { return v; }"
    assert reason(cuda(body, before), CUDA) == ""


def test_a_kernel_that_is_no_shared_object_is_not_examined(tiny_problem: Problem, tmp_path: Path) -> None:
    assert refused(tmp_path / "model.py", MODULE, tiny_problem) == ""


# ── hostile ─────────────────────────────────────────────────────────────────────────────────────

ASKED_FOR = {
    "files": ("open", "#include <fcntl.h>", 'out[0] = open("/etc/passwd", O_RDONLY);'),
    "streams of files": ("fopen", "#include <cstdio>", 'out[0] = fopen("/tmp/a", "r") != nullptr;'),
    "network": ("socket", "#include <sys/socket.h>", "out[0] = socket(AF_INET, SOCK_STREAM, 0);"),
    "processes": ("fork", "#include <unistd.h>", "out[0] = fork();"),
    "commands": ("system", "#include <cstdlib>", 'out[0] = system("true");'),
    "the loader": ("dlopen", "#include <dlfcn.h>", 'out[0] = dlopen("libtorch.so", 1) != nullptr;'),
    "symbols": ("dlsym", "#include <dlfcn.h>", 'out[0] = dlsym(RTLD_DEFAULT, "PyEval_GetFrame") != nullptr;'),
    "mappings": ("mprotect", "#include <sys/mman.h>", "out[0] = mprotect(out, 4096, 7);"),
    "system calls": ("syscall", "#include <unistd.h>", "out[0] = syscall(39);"),
    "signals": ("sigaction", "#include <signal.h>", "out[0] = sigaction(11, nullptr, nullptr);"),
    "environment": ("getenv", "#include <cstdlib>", 'out[0] = getenv("HOME") != nullptr;'),
    "clocks": ("clock_gettime", "#include <time.h>", "timespec t; out[0] = clock_gettime(CLOCK_MONOTONIC, &t);"),
    "clocks of C++": ("steady_clock", "#include <chrono>", "out[0] = std::chrono::steady_clock::now() != decltype("
                      "std::chrono::steady_clock::now()){};"),
    "clocks of OpenMP": ("omp_get_wtime", "#include <omp.h>", "out[0] = omp_get_wtime();"),
    "sleep": ("usleep", "#include <unistd.h>", "usleep(1000);"),
    "files of C++": ("basic_ifstream", "#include <fstream>", 'std::ifstream f("/etc/passwd"); out[0] = f.get();'),
    "commands to the worker": ("cin", "#include <iostream>", "std::cin >> out[0];"),
    "true randomness": ("random_device", "#include <random>", "out[0] = std::random_device()();"),
    "writing to a descriptor": ("dprintf", "#include <cstdio>", 'dprintf(3, "{}");'),
    "weakly": ("PyEval_GetFrame", 'extern "C" __attribute__((weak)) void* PyEval_GetFrame();',
               "if (PyEval_GetFrame) out[0] = PyEval_GetFrame() != nullptr;"),
    "from assembly": ("execve", "", 'long p; asm("movq execve@GOTPCREL(%%rip), %0" : "=r"(p)); out[0] = p;'),
    "by another version": ("fopen", 'extern "C" void* old(const char*, const char*); asm(".symver old, '
                           'fopen@GLIBC_2.2.5");', 'out[0] = old("/tmp/a", "r") != nullptr;'),
    "through a table": ("kill", "#include <signal.h>\nint (*all[])(pid_t, int) = {kill};", "out[0] = all[0](1, 0);"),
    "from a resolver": ("unlink", '#include <unistd.h>\nextern "C" int (*chosen())(const char*) { return unlink; }\n'
                        'extern "C" int gone(const char*) __attribute__((ifunc("chosen")));', 'gone("/tmp/a");'),
    "from a constructor": ("ptrace", "#include <sys/ptrace.h>\n__attribute__((constructor)) void early() {"
                           " ptrace(PTRACE_TRACEME, 0, 0, 0); }", "out[0] = 1;"),
}  # fmt: skip


@pytest.mark.parametrize("how", ASKED_FOR)
def test_an_import_without_use_is_refused_by_name(reason: Reason, how: str) -> None:
    function, before, body = ASKED_FOR[how]
    said = reason(cpp(body, DECLARED + before))
    assert "imports" in said
    assert function in said
    assert reason(cpp(body, DECLARED + before), CPP, Check.SYMBOLS) == ""


def test_a_definition_does_not_cover_up_what_is_bound_instead(reason: Reason) -> None:
    """The process is searched before the library: a call of this `remove` reaches the C library's."""
    said = reason(cpp('out[0] = remove("/tmp/a");', 'extern "C" int remove(const char*) { return 0; }'))
    assert "the library defines remove" in said


def test_definitions_of_its_own_names_pass(reason: Reason) -> None:
    before = 'float table[64]; extern "C" float row_sum(const float* v) { return v[0] + table[1]; }'
    assert reason(cpp("out[0] = row_sum(x);", before)) == ""


def test_many_names_are_cut_short(reason: Reason) -> None:
    names = "getpid getppid getuid geteuid getgid getegid setsid getpgrp".split()
    body = "".join(f"out[{index}] = {name}();" for index, name in enumerate(names))
    assert "and 2 more" in reason(cpp(body, "#include <unistd.h>"))


CALLED = {
    "allocation": ("cudaMalloc", "cudaMalloc(&scratch, 64);"),
    "waiting": ("cudaStreamSynchronize", "cudaStreamSynchronize(stream);"),
    "streams": ("cudaStreamCreate", "cudaStream_t other; cudaStreamCreate(&other);"),
    "being captured": ("cudaStreamIsCapturing", "cudaStreamCaptureStatus s; cudaStreamIsCapturing(stream, &s);"),
    "host functions": ("cudaLaunchHostFunc", "cudaLaunchHostFunc(stream, [](void*) {}, nullptr);"),
    "limits": ("cudaDeviceSetLimit", "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);"),
    "the driver": ("cuMemAlloc_v2", "void* f; cudaDriverEntryPointQueryResult r;"
                   'cudaGetDriverEntryPointByVersion("cuMemAlloc_v2", &f, 12000, cudaEnableDefault, &r);'),
}  # fmt: skip


@pytest.mark.nvcc
@pytest.mark.parametrize("what", CALLED)
def test_a_runtime_function_without_use_is_refused_by_name(reason: Reason, what: str) -> None:
    function, body = CALLED[what]
    said = reason(cuda(body), CUDA)
    assert function in said
    assert "gets its memory as scratch" in said


@pytest.mark.nvcc
def test_a_weak_import_of_a_library_is_refused(reason: Reason) -> None:
    declared = 'extern "C" __attribute__((weak)) int cublasSgemm_v2(void*);'
    assert "imports cublasSgemm_v2" in reason(cuda("if (cublasSgemm_v2) cublasSgemm_v2(nullptr);", declared), CUDA)


# ── libraries ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def linked(tmp_path: Path, compiler: str) -> Callable[..., Path]:
    """A kernel linked against a library made for the purpose, which has the name of a known one."""

    def make(*flags: str) -> Path:
        (tmp_path / "blas.c").write_text("void cblas_sgemm(void) {}\n")
        (tmp_path / "kernel.c").write_text("void cblas_sgemm(void); int launch(void) { cblas_sgemm(); return 0; }\n")
        for source, output, extra in [
            ("blas.c", "libopenblas.so", ["-Wl,-soname,libopenblas.so.0"]),
            ("kernel.c", "kernel.so", [f"-L{tmp_path}", "-lopenblas", *flags]),
        ]:
            gcc = [compiler, "-x", "c", "-fPIC", "-shared", str(tmp_path / source), "-x", "none"]
            subprocess.run([*gcc, *extra, "-o", str(tmp_path / output)], check=True)
        return tmp_path / "kernel.so"

    return make


def allowing(names: str) -> Problem:
    extra = f"LIBRARIES = {names}" if names else ""
    return problem.from_source("handmade", source_of("x: return x * 2", "torch.randn(64)", extra=extra))


def test_a_library_is_refused_unless_the_problem_allows_it(linked: Callable[..., Path]) -> None:
    library = linked()
    said = refused(library, CPP, allowing(""))
    assert "needs libopenblas.so.0, which this problem does not allow" in said
    assert "imports cblas_sgemm" in said
    assert "openblas.so" in refused(library, CPP, allowing("['cublas']"))
    assert refused(library, CPP, allowing(""), frozenset({Check.SYMBOLS})) == ""
    assert refused(library, CPP, allowing("['openblas']")) == ""


def test_only_a_kernel_that_needs_an_allowed_library_calls_one(linked: Callable[..., Path], honest: str) -> None:
    allowed = allowing("('openblas', 'cublas')")
    assert calls_library(linked(), allowed)
    assert not calls_library(library_of(allowing(""), honest), allowed)


def test_a_path_to_other_libraries_is_refused(linked: Callable[..., Path]) -> None:
    said = refused(linked("-Wl,-rpath,/tmp"), CPP, allowing("['openblas']"))
    assert "the library sets RUNPATH" in said or "the library sets RPATH" in said


@pytest.mark.parametrize("flags", [("-Wl,-z,execstack",), ("-fno-pic", "-mcmodel=large", "-Wl,-z,notext")])
def test_memory_that_is_both_written_and_executed_is_refused(
    linked: Callable[..., Path], flags: tuple[str, ...]
) -> None:
    said = refused(linked(*flags), CPP, allowing("['openblas']"))
    assert "both written and executed" in said


# ── damaged files ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no 64-bit ELF"),
        (b"#!/bin/sh\n" * 100, "no 64-bit ELF"),
        (b"\x7fELF\x02\x01\x01" + bytes(57), "not those of a shared object"),
        (b"\x7fELF\x01\x01\x01" + bytes(57), "no 64-bit ELF"),
    ],
)
def test_what_is_no_shared_object_is_refused(tmp_path: Path, tiny_problem: Problem, content: bytes, told: str) -> None:
    (tmp_path / "kernel.so").write_bytes(content)
    assert told in refused(tmp_path / "kernel.so", CPP, tiny_problem)


def test_damage_is_refused_or_harmless_and_never_an_accident(
    tiny_problem: Problem, tmp_path: Path, honest: str
) -> None:
    """Whatever bytes change, the parser ends with a result or says that the file is malformed."""
    whole = library_of(tiny_problem, honest).read_bytes()
    chance, damaged, malformed = random.Random(4), tmp_path / "kernel.so", 0
    for _ in range(2000):
        content = bytearray(whole[: chance.choice([len(whole), chance.randrange(len(whole))])])
        for _ in range(chance.randint(1, 8)):
            place = chance.choice([chance.randrange(1024), chance.randrange(len(whole))])
            content[place % max(len(content), 1) : place % max(len(content), 1) + 1] = chance.randbytes(1)
        damaged.write_bytes(content)
        try:
            elf.read(damaged)
        except elf.Malformed:
            malformed += 1
    assert 500 < malformed < 2000


def test_sections_cannot_hide_what_the_loader_binds(tiny_problem: Problem, tmp_path: Path) -> None:
    """Section headers, which most tools read, are not what is loaded: without any, the import is still found."""
    library = library_of(tiny_problem, cpp("out[0] = getpid();", "#include <unistd.h>"))
    content = bytearray(library.read_bytes())
    struct.pack_into("<Q", content, 40, 0)  # e_shoff
    struct.pack_into("<HHH", content, 58, 64, 0, 0)  # e_shentsize, e_shnum, e_shstrndx
    (tmp_path / "kernel.so").write_bytes(content)
    assert "getpid" in refused(tmp_path / "kernel.so", CPP, tiny_problem)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf (binutils) is absent")
def test_the_imports_of_a_large_library_are_those_that_binutils_lists() -> None:
    library = Path(str(subprocess.run(["g++", "-print-file-name=libstdc++.so.6"], capture_output=True, check=True,
                                      text=True).stdout.strip()))  # fmt: skip
    listed = subprocess.run(["readelf", "-W", "-r", str(library)], capture_output=True, check=True, text=True).stdout
    named = {line.split()[4].partition("@")[0] for line in listed.splitlines() if line[:1] == "0" and "@" in line}
    found = elf.read(library)
    assert named <= found.imported | found.own
    assert {"malloc", "open", "getenv"} & found.imported
