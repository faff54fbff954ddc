"""`treesearch build`: what an agent sees while it writes a kernel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.steps import scripted
from tests.test_prompts import blocks
from tests.test_prompts_cuda import DEVICE, ask_kernel
from treesearch.records import codec

PRODUCT = """
extern "C" int launch(const __half* a, const __half* b, __half* out, void* scratch, cudaStream_t stream) {
    return (int)start_product(a, b, out, a_dim0, b_dim1, a_dim1, 132, stream);
}
"""


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


@pytest.mark.compiler
@pytest.mark.untimed
def test_a_kernel_that_builds_is_told_with_its_instructions(tmp_path: Path) -> None:
    problem = scripted.write_problem(tmp_path)
    (tmp_path / "kernel.cpp").write_text(scripted.source() + "static int unused;\n")
    done = scripted.typed("build", problem, "kernel.cpp", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("It builds: g++ -std=c++17 -O3")
    assert re.search(r"\nlaunch:\n  \d+ instructions: ", done.stdout)
    assert "unused" in done.stdout.split("The compiler said:")[1]
    assert not re.search(r"\bms\b|verified|faster|speed", done.stdout)


@pytest.mark.compiler
@pytest.mark.untimed
def test_a_kernel_that_does_not_build_is_told_with_its_errors(tmp_path: Path) -> None:
    problem = scripted.write_problem(tmp_path)
    (tmp_path / "kernel.cpp").write_text(scripted.source(scripted.BROKEN))
    done = scripted.typed("build", problem, "kernel.cpp", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("It does not build: g++ ")
    assert "‘gone’ was not declared in this scope" in done.stdout


def test_what_cannot_be_built_ahead_or_read_is_a_mistake_of_usage(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("class ModelNew: ...")
    assert scripted.typed("build", "softmax_small", "module.py", cwd=tmp_path).returncode == 2
    done = scripted.typed("build", "softmax_small", "gone.cpp", cwd=tmp_path)
    assert (done.returncode, "Cannot read gone.cpp" in done.stderr) == (2, True)


@pytest.mark.nvcc
def test_the_product_that_prompts_show_is_pipelined(tmp_path: Path) -> None:
    """Built as a kernel would be, from the prompt alone: no spills, nothing serialised, fed by the copy engine."""
    page = ask_kernel().split("### Fragments")[1].split("## The kernel to start from")[0]
    (tmp_path / "kernel.cu").write_text('#include "problem.h"\n' + "\n".join(blocks(page)) + PRODUCT)
    (tmp_path / "gpu.json").write_text(json.dumps(codec.encode(DEVICE)))
    done = scripted.typed("build", "matmul_fp16", "kernel.cu", "--device", "gpu.json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "code=sm_90a" in done.stdout
    assert re.search(r"\nproduct:\n  \d+ registers a thread, no spills, stack 0 bytes", done.stdout)
    assert "8 tensor core HGMMA" in done.stdout
    assert "3 bulk copy UTMALDG" in done.stdout
    assert "Performance Loss" not in done.stdout
