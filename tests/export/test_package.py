"""The format `package`: built into a wheel, installed where there is no compiler, called and tested there."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.environments import fresh, run
from tests.export import made
from treesearch import languages
from treesearch.errors import ToolchainError, UsageError
from treesearch.export import formats, package
from treesearch.export.exported import Exported
from treesearch.export.verifying import Verification
from treesearch.languages import CUDA, toolkit

NEEDS_COMPILER = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is absent (apt-get install g++)")
"""In place of the marker `compiler`, which is for tests that judge by the clock."""
NAME = "two_layers_kernel"
ABSENT = Verification(absent="this machine has no device")
HOSTILE = """'</script>\x1b[31m"]\n# \\ `x` {{ 7*7 }} µ'''"""

SQUARE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * x


def get_inputs():
    return [torch.randn(64)]


def get_init_inputs():
    return []
"""
SQUARE_CUDA = r"""#include "problem.h"
__global__ void square(const float* x, float* out) {
    out[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x];
}
extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    square<<<1, x_numel, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
"""
OF_HOPPER_ALONE = SQUARE_CUDA.replace("    out[", '    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");\n    out[')


def write(exported: Exported, target: Path) -> Path:
    formats.write(exported, formats.FORMATS["package"], ABSENT, target)
    return target


def load(file: Path) -> ModuleType:
    """A package that is not installed, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"{file.parent.name}_{len(sys.modules)}", file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export, below a .gitignore that names shared objects."""
    home = tmp_path_factory.mktemp("exports")
    (home / ".gitignore").write_text("*.so\n")
    return write(made.exported(), home / "two_layers")


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--no-build-isolation", "--wheel-dir", folder.parent, folder, cwd=folder.parent)
    (built,) = folder.parent.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fresh(wheel, tmp_path_factory.mktemp("environment"))


# ── what is installed ───────────────────────────────────────────────────────────────────────────


@NEEDS_COMPILER
def test_the_wheel_is_for_this_platform_and_any_python_and_holds_the_compiled_kernel(wheel: Path) -> None:
    assert wheel.name.endswith(f"-py3-none-{package.wheel_platform()}.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = ("__init__.py", "benchmark.py", "kernel.cpp", "kernel.so", "manifest.json", "problem.h")
    assert names == {f"{NAME}/{file}" for file in files}


@NEEDS_COMPILER
def test_where_there_is_no_compiler_it_passes_its_own_tests(installed: Path, folder: Path) -> None:
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", folder / "tests")
    said = run(installed / "python", *words, cwd=installed, PATH=str(installed))
    passed = set(re.findall(r"^PASSED \S+::(\w+)", said, re.MULTILINE))
    assert {"test_it_computes_what_the_reference_does", "test_it_is_a_sound_operator"} <= passed
    assert re.search(rf"^{len(re.findall('^PASSED', said, re.MULTILINE))} passed in", said, re.MULTILINE)


@NEEDS_COMPILER
def test_its_benchmark_times_the_kernel_beside_the_reference(installed: Path) -> None:
    words = ("-m", f"{NAME}.benchmark", "--seconds", "0.01")
    said = run(installed / "python", *words, cwd=installed, PATH=str(installed))
    assert re.match(r"kernel +\S+ ms.*\nreference +\S+ ms.*\n\d+\.\d\d× with warm caches", said)


@NEEDS_COMPILER
def test_a_cpu_that_lacks_what_it_was_compiled_for_leaves_it_to_the_reference(folder: Path) -> None:
    found = load(folder / NAME / "__init__.py")
    model, inputs = found.ModelNew(*found.get_init_inputs()), found.get_inputs()
    vars(found)["CPU_FEATURES"].append("avx9000")
    with torch.no_grad(), pytest.warns(RuntimeWarning, match="the CPU lacks avx9000; the reference computes this"):
        answer = model(*inputs)
    assert torch.equal(answer, found.Model.forward(model, *inputs))


@NEEDS_COMPILER
def test_the_manifest_says_what_it_was_compiled_for(folder: Path) -> None:
    said = json.loads((folder / "manifest.json").read_text())["package"]
    assert said["platform"] == package.wheel_platform()
    assert said["cpu_features"] == list(package.cpu_features(made.exported()))
    assert "-march=native" in said["command"]


# ── what is generated ───────────────────────────────────────────────────────────────────────────


@NEEDS_COMPILER
@pytest.mark.parametrize("name", [HOSTILE, "3d", "class", "µ–∑"])
def test_any_name_of_a_problem_gives_a_package_that_can_be_built(tmp_path: Path, name: str) -> None:
    exported = made.exported(problem=made.PROBLEM, name="two_layers")
    exported = replace(exported, problem=replace(exported.problem, name=name))
    target = write(exported, tmp_path / "out")
    project = tomllib.loads((target / "pyproject.toml").read_text())
    (module,) = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert module.isidentifier()
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", project["project"]["name"])
    for file in target.rglob("*.py"):
        ast.parse(file.read_text())
    texts = [file.read_text() for file in target.rglob("*") if file.suffix in (".toml", ".md")]
    assert not any("\x1b" in text for text in texts)
    assert "</script>" not in (target / "README.md").read_text().replace("\\<", "")


@pytest.mark.parametrize(("target", "said"), [("out", "./out"), ("a b/out", "'./a b/out'"), ("/tmp/out", "/tmp/out")])
def test_pip_is_given_a_folder_and_never_a_name_that_it_would_look_up(target: str, said: str) -> None:
    install, _ = package.use(made.exported(), Path(target))
    assert install.startswith(f"pip install {said} ")


def test_a_python_module_is_no_package(tmp_path: Path) -> None:
    exported = made.exported("class ModelNew: ...", language=languages.named("module"))
    with pytest.raises(UsageError, match="--format module"):
        write(exported, tmp_path / "out")


@NEEDS_COMPILER
def test_a_kernel_that_does_not_build_here_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="does not build with the compiler that is here"):
        write(made.exported("int x = ;"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ── CUDA ────────────────────────────────────────────────────────────────────────────────────────


def listed(library: Path, what: str) -> str:
    """Names of the pieces of a fat binary: `--list-elf` or `--list-ptx`."""
    cuobjdump = toolkit.find("cuobjdump")
    if cuobjdump is None:
        pytest.skip("cuobjdump was not found")
    return subprocess.run([cuobjdump, what, library], capture_output=True, text=True, check=False).stdout


@pytest.mark.nvcc
def test_a_gpus_package_holds_its_own_code_and_ptx_for_newer_ones(tmp_path: Path) -> None:
    target = write(made.exported(SQUARE_CUDA, SQUARE, name="square", language=CUDA), tmp_path / "out")
    library = target / "square_kernel" / "kernel.so"
    assert re.findall(r"\bsm_\w+", listed(library, "--list-elf")) == ["sm_90a"]
    assert re.findall(r"\bsm_\w+", listed(library, "--list-ptx")) == ["sm_90"]
    text = (target / "square_kernel" / "__init__.py").read_text()
    assert "\nNEWER = True\n" in text
    assert "wanted = (9, 0)\n" in text
    assert re.search(r'\nCUDA = "\d+"\n', text)


@pytest.mark.nvcc
def test_a_kernel_of_one_gpu_alone_is_packed_without_ptx(tmp_path: Path) -> None:
    target = write(made.exported(OF_HOPPER_ALONE, SQUARE, name="square", language=CUDA), tmp_path / "out")
    assert "sm_90" not in listed(target / "square_kernel" / "kernel.so", "--list-ptx")
    assert "\nNEWER = False\n" in (target / "square_kernel" / "__init__.py").read_text()
    assert "Other GPUs cannot run it" in (target / "README.md").read_text()


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("source", "capability", "cuda", "why"),
    [
        (SQUARE_CUDA, (9, 0), "13.0", ""),
        (SQUARE_CUDA, (10, 0), "13.2", ""),
        (SQUARE_CUDA, (8, 9), "13.0", "the GPU is sm_89, not sm_90a or newer"),
        (SQUARE_CUDA, (9, 0), "12.8", "torch is made for CUDA 12, the kernel for CUDA 13"),
        (SQUARE_CUDA, (9, 0), None, "torch is made for CUDA none, the kernel for CUDA 13"),
        (OF_HOPPER_ALONE, (10, 0), "13.0", "the GPU is sm_100, not sm_90a"),
    ],
)
def test_a_device_that_cannot_run_it_is_told_why(
    source: str,
    capability: tuple[int, int],
    cuda: str | None,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = write(made.exported(source, SQUARE, name="square", language=CUDA), tmp_path / "out")
    found = load(target / "square_kernel" / "__init__.py")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    vars(found)["CUDA"] = "13"  # whatever nvcc there is here
    assert found.foreign(0) == why


@pytest.mark.nvcc
@pytest.mark.gpu
def test_a_gpus_package_passes_its_own_tests(tmp_path: Path) -> None:
    target = write(made.exported(SQUARE_CUDA, SQUARE, name="square", language=CUDA), tmp_path / "out")
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert " passed" in run(sys.executable, *words, cwd=target, PYTHONPATH=str(target))
