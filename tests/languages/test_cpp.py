"""C++: its names, its half-precision helpers, and how languages are found."""

from __future__ import annotations

import ctypes
import keyword
import shutil
import subprocess
from pathlib import Path

import pytest

from treesearch import languages
from treesearch.errors import UsageError
from treesearch.languages import CPP
from treesearch.languages.language import RESERVED, identifier
from treesearch.records import Argument, Problem, Role, Signature

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ was not found")


def problem_with(*arguments: Argument) -> Problem:
    return Problem("handmade", "", Signature(arguments))


def compiles(folder: Path, source: str, problem: Problem) -> Path:
    """Build a source the way kernels are built; the shared object's path."""
    compiler = CPP.compiler()
    assert compiler is not None
    (folder / "problem.h").write_text(CPP.header(problem))
    (folder / "kernel.cpp").write_text(source)
    command = CPP.command(compiler, folder / "kernel.cpp", folder / "kernel.so", "")
    done = subprocess.run([*command, "-Werror"], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "kernel.so"


@needs_compiler
def test_every_reserved_name_becomes_one_that_compiles(tmp_path: Path) -> None:
    names = [identifier(name) for name in sorted(RESERVED | set(keyword.kwlist))]
    problem = problem_with(*(Argument(name, Role.INPUT, "float32", (2, 3)) for name in names))
    headers = "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <assert.h>\n#include <errno.h>\n"
    body = f"{CPP.prototype(problem).rstrip(';')} {{ return {names[0]} == {names[-1]}; }}\n"
    compiles(tmp_path, headers + body, problem)


@pytest.mark.parametrize(
    ("name", "made"),
    [("x", "x"), ("layers.0.weight", "layers_0_weight"), ("0", "_0"), ("for", "for_"), ("µ", "_"), ("", "_")],
)
def test_identifiers_stay_close_to_the_name(name: str, made: str) -> None:
    assert identifier(name) == made


@needs_compiler
def test_bfloat16_rounds_to_nearest_even_as_torch_does(tmp_path: Path) -> None:
    import torch

    problem = problem_with(
        Argument("x", Role.INPUT, "float32", (4096,)),
        Argument("out", Role.OUTPUT, "bfloat16", (4096,)),
        Argument("back", Role.OUTPUT, "float32", (4096,)),
    )
    loop = "for (int i = 0; i < 4096; ++i) { out[i] = from_float(x[i]); back[i] = to_float(out[i]); } return 0;"
    library = compiles(tmp_path, f"{CPP.prototype(problem).rstrip(';')} {{ {loop} }}\n", problem)
    x = torch.randn(4096) * torch.logspace(-40, 38, 4096)
    x[:7] = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1 + 2**-8, 1 + 3 * 2**-8])
    out, back = torch.empty(4096, dtype=torch.bfloat16), torch.empty(4096)
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (x, out, back)]
    assert ctypes.CDLL(str(library)).launch(*pointers, None) == 0
    assert torch.equal(out.nan_to_num(7.0), x.bfloat16().nan_to_num(7.0))
    assert torch.equal(back.nan_to_num(7.0), x.bfloat16().float().nan_to_num(7.0))
    assert bool(out[4].isnan())


def test_the_header_says_where_each_tensor_comes_from() -> None:
    header = CPP.header(
        problem_with(
            Argument("x", Role.INPUT, "float16", (2, 3), "x"),
            Argument("n", Role.SCALAR, "int64", (), "n"),
            Argument("conv_weight", Role.PARAMETER, "bfloat16", (4,), "conv.weight"),
            Argument("out", Role.OUTPUT, "float64", (), "out"),
        )
    )
    assert "// x: input of float16, 2×3\nconstexpr int64_t x_numel = 6, x_dim0 = 2, x_dim1 = 3;" in header
    assert "// n: int64, by value" in header
    assert "// conv_weight: parameter of bfloat16, 4, conv.weight" in header
    assert "// out: output of float64, one element\nconstexpr int64_t out_numel = 1;" in header
    parameters = "const _Float16* x, int64_t n, const bfloat16_t* conv_weight, double* out, void* scratch"
    assert f'extern "C" int launch({parameters});' in header


def test_languages_are_found_by_name_and_by_suffix() -> None:
    assert languages.named("cpp") is languages.named("auto") is CPP
    assert languages.of_file(Path("a/kernel.cc")) is CPP
    with pytest.raises(UsageError, match=r"no language 'cobol'; choose one of: auto, cpp, cuda"):
        languages.named("cobol")
    with pytest.raises(UsageError, match=r"kernel\.f90 has a suffix that no kernel language uses; known are \.cpp"):
        languages.of_file(Path("kernel.f90"))


def test_a_compiler_is_found_on_the_path_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert CPP.compiler() is None
    (tmp_path / "g++").write_text("#!/bin/sh\n")
    (tmp_path / "g++").chmod(0o755)
    assert CPP.compiler() == str(tmp_path / "g++")
