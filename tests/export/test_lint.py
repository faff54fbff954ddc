"""The lint: each rule finds its offender, and leaves alone what only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.export import made
from treesearch.errors import UsageError
from treesearch.export import formats, lint
from treesearch.export.verifying import Verification
from treesearch.languages import CUDA, LANGUAGES

GUARDED = """import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        with torch.cuda.device(x.device):
            return run(x, torch.cuda.current_stream(x.device).cuda_stream)
"""
SHAPED = GUARDED.replace("        with", "        if x.shape[0] != 4:\n            BODY\n        with")


def found(text: str, file: str) -> list[str]:
    return [one.wrong for one in lint.look(text, file)]


@pytest.mark.parametrize(
    "launch",
    [
        "f<<<grid, block>>>(x);",
        "f<<<grid, dim3(1, 2, 3), 0>>>(x);",
        "f<<<grid, block, 0, 0>>>(x);",
        "f<<<grid,\n   block, sizeof(float) * max(a, b), nullptr>>>(x);",
        "f<<<grid, block, 0, (cudaStream_t)0>>>(x);",
        "cudaMemset(out, 0, n);",
        "cudaMemsetAsync(out, 0, n, 0);",
        "CHECK(cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToDevice, cudaStreamLegacy));",
        "cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToDevice, 0) /* no semicolon */",
    ],
)
def test_work_on_the_default_stream_is_found(launch: str) -> None:
    [one] = lint.look(f"// a kernel\n{launch}\n", "kernel.cu")
    assert one.line == 2
    assert "on the default stream" in one.wrong
    assert "pass the stream" in one.change


@pytest.mark.parametrize(
    "launch",
    [
        "f<<<grid, dim3(1, 2), smem, stream>>>(x);",
        "f<int><<<grid, block, 0, given.stream>>>(x);",
        "// f<<<grid, block>>>(x);",
        "/* f<<<grid,\n block>>>(x); */",
        "CHECK(cudaMemsetAsync(out, 0, n, stream));",
        "if (a << 3 < b) c = d >> 2;",
    ],
)
def test_work_on_a_stream_of_its_own_is_left_alone(launch: str) -> None:
    assert found(launch, "kernel.cu") == []


def test_a_launch_in_a_string_of_a_module_is_found_at_its_line() -> None:
    text = f'{GUARDED}\nSOURCE = """\nvoid run() {{\n    f<<<1, 2>>>(x);\n}}\n"""\n'
    [one] = lint.look(text, "kernel.py")
    assert (one.wrong, one.line) == ("a launch on the default stream", text[: text.index("<<<")].count("\n") + 1)


@pytest.mark.parametrize(
    "text",
    [
        "import triton\n\n\n@triton.jit\ndef square(x):\n    pass\n",
        GUARDED.replace("with torch.cuda.device(x.device):", "if True:"),
        'SOURCE = "f<<<grid, block, 0, stream>>>(x);"\n',
    ],
)
def test_a_launch_without_a_device_guard_is_found(text: str) -> None:
    assert "a launch without a device guard" in found(text, "kernel.py")
    assert found(f"{text}# with torch.cuda.device(x.device)\n", "kernel.py") == []


@pytest.mark.parametrize("flag", ["-gencode=arch=compute_90a,code=sm_90a", "-arch=sm_80", "TORCH_CUDA_ARCH_LIST"])
def test_a_pinned_architecture_without_a_check_is_found(flag: str) -> None:
    text = f'FLAGS = ["-O3", "{flag}"]\n'
    [said] = found(text, "kernel.py")
    assert said.endswith("is pinned without a check of the device")
    assert found(f"{text}assert torch.cuda.get_device_capability() == (9, 0)\n", "kernel.py") == []


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    fast(x)\nexcept Exception:\n    slow(x)\n",
        "try:\n    fast(x)\nexcept:\n    pass\n",
        "try:\n    fast = build()\nexcept RuntimeError:\n    fast = None\n",
    ],
)
def test_a_swallowed_error_is_found(text: str) -> None:
    assert found(text, "kernel.py") == ["an error is swallowed"]


@pytest.mark.parametrize("said", ["raise", "warnings.warn('slow')", "logger.warning('slow')"])
def test_an_error_that_is_heard_is_left_alone(said: str) -> None:
    assert found(f"try:\n    fast(x)\nexcept Exception:\n    {said}\n", "kernel.py") == []


def test_a_silent_fallback_is_found() -> None:
    assert found(SHAPED.replace("BODY", "return torch.relu(x)"), "kernel.py") == ["a silent fallback"]


@pytest.mark.parametrize(
    "body",
    ["raise ValueError('shape')", "warnings.warn('slow')\n            return torch.relu(x)", "x = x[:4]"],
)
def test_a_fallback_that_is_heard_is_left_alone(body: str) -> None:
    assert found(SHAPED.replace("BODY", body), "kernel.py") == []


def test_what_is_no_python_is_found() -> None:
    [said] = found("class ModelNew(\n", "kernel.py")
    assert said.startswith("it is no valid Python")


@pytest.mark.parametrize(
    ("source", "language", "said"),
    [
        ("void f() { g<<<1, 2>>>(); }", "cuda", "kernel.cu:1: a launch on the default stream"),
        (SHAPED.replace("BODY", "return torch.relu(x)"), "module", "two_layers_kernel.py:5: a silent fallback"),
    ],
)
def test_an_offender_is_not_written(source: str, language: str, said: str, tmp_path: Path) -> None:
    export = made.exported(source, language=LANGUAGES[language])
    with pytest.raises(UsageError, match="would fail for others") as refused:
        formats.write(export, formats.FORMATS["module"], Verification(absent="none"), tmp_path / "export")
    assert said in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["module", "kernelbench"])  # a package is compiled, and looked at, in test_package.py
def test_what_we_generate_passes(form: str) -> None:
    for language in (LANGUAGES["cpp"], CUDA):
        lint.require(export := made.exported(language=language), formats.FORMATS[form].files(export))


def test_shipped_examples_pass() -> None:
    examples = Path(__file__).resolve().parent.parent.parent / "examples"
    assert found((examples / "softmax.cu").read_text(), "softmax.cu") == []
