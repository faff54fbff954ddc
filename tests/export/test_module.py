"""The formats `module` and `kernelbench`, written, imported, called, and tested by the tests that go with them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.export import made
from treesearch import languages
from treesearch.export import formats, module
from treesearch.export.exported import Exported
from treesearch.export.verifying import Verification
from treesearch.languages import CUDA
from treesearch.records import Label

ROOT = Path(__file__).resolve().parent.parent.parent
SOFTMAX = (ROOT / "examples" / "softmax.cu").read_text()
NEEDS_COMPILER = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is absent (apt-get install g++)")
"""Nothing here goes by the clock, as tests are taken to that are marked `compiler`."""
ABSENT = Verification(absent="this machine has no device")
MODELNEW = made.PROBLEM.partition("\n\n\ndef get_inputs")[0].replace("class Model", "class ModelNew")


def written(exported: Exported, form: str, target: Path) -> dict[str, Any]:
    return formats.write(exported, formats.FORMATS[form], ABSENT, target).manifest


def load(file: Path) -> ModuleType:
    name = f"{file.stem}_{len(sys.modules)}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def judged(folder: Path, *words: str) -> dict[str, str]:
    """Outcomes of the tests that go with the exports below a folder, by path and name; run as whoever receives them
    runs them, without treesearch."""
    around = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", "--import-mode=importlib", *words]
    done = subprocess.run([*command, "."], cwd=folder, env=around, capture_output=True, text=True, check=False)
    found = re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S+)", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return {name: outcome for outcome, name in found}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of the tests of several exports, in one process, which pays for importing torch once."""
    target = tmp_path_factory.mktemp("judged")
    written(made.exported(), "module", target / "right")
    written(made.exported(), "kernelbench", target / "kernelbench")
    written(made.exported(made.SOURCE.replace("+ shift[j]", "")), "module", target / "wrong")
    written(made.exported(MODELNEW, language=languages.named("module")), "module", target / "python")
    return judged(target)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of format `module`."""
    target = tmp_path_factory.mktemp("exports") / "two_layers"
    written(made.exported(), "module", target)
    return target


@pytest.fixture(scope="module")
def kernel(folder: Path) -> ModuleType:
    return load(folder / "two_layers_kernel.py")


@pytest.fixture
def model(kernel: ModuleType) -> torch.nn.Module:
    torch.manual_seed(1)
    found = kernel.ModelNew(*kernel.get_init_inputs())
    assert isinstance(found, torch.nn.Module)
    return found


@pytest.fixture
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


# ── plain C++ ───────────────────────────────────────────────────────────────────────────────────


@NEEDS_COMPILER
@pytest.mark.parametrize(("export", "least"), [("right", 15), ("kernelbench", 20), ("python", 6)])
def test_exports_pass_the_tests_that_go_with_them(export: str, least: int, outcomes: dict[str, str]) -> None:
    found = {name: outcome for name, outcome in outcomes.items() if name.startswith(f"{export}/")}
    assert set(found.values()) == {"PASSED"}, found
    assert len(found) >= least


@NEEDS_COMPILER
def test_a_wrong_kernel_fails_the_tests_that_go_with_it(outcomes: dict[str, str]) -> None:
    failed = {
        name.partition("::")[2] for name, said in outcomes.items() if name.startswith("wrong/") and said == "FAILED"
    }
    assert {"test_it_computes_what_the_reference_does[11]", "test_it_takes_the_references_parameters"} <= failed
    assert "test_another_shape_is_left_to_the_reference" not in failed


@NEEDS_COMPILER
@pytest.mark.usefixtures("without_gradients")
def test_it_works_under_torch_compile_with_its_usual_backend(model: torch.nn.Module, kernel: ModuleType) -> None:
    inputs = kernel.get_inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own
        compiled = torch.compile(model, fullgraph=True)
        got = compiled(*inputs)
    torch.testing.assert_close(got, kernel.Model.forward(model, *inputs))


@NEEDS_COMPILER
def test_training_is_left_to_the_reference_and_works(model: torch.nn.Module, kernel: ModuleType) -> None:
    kernel._said.clear()
    with pytest.warns(RuntimeWarning, match=r"gradients are wanted, which torch\.no_grad\(\) would spare"):
        model(*kernel.get_inputs()).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@NEEDS_COMPILER
@pytest.mark.usefixtures("without_gradients")
def test_a_fallback_is_heard_under_torch_compile_too(model: torch.nn.Module, kernel: ModuleType) -> None:
    kernel._said.clear()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    x = torch.randn(5, 16)
    with pytest.warns(RuntimeWarning, match=r"x is not of shape \(6, 16\); the reference computes this"):
        got = compiled(x, 2.0)
    torch.testing.assert_close(got, kernel.Model.forward(model, x, 2.0))


@pytest.mark.parametrize("given", [(torch.ones(6, 16), 2), (torch.ones(6, 16),), ([1.0], 2.0)])
@pytest.mark.usefixtures("without_gradients")
def test_what_it_was_not_made_for_is_refused_with_the_reason(kernel: ModuleType, given: tuple[object, ...]) -> None:
    state = tuple(torch.ones(shape) for _, _, shape in kernel.ARGUMENTS[2:])
    assert kernel.unfit((*given, *state))


@pytest.mark.usefixtures("without_gradients")
def test_inputs_by_name_are_left_to_the_reference(model: torch.nn.Module, kernel: ModuleType) -> None:
    kernel._said.clear()
    x = kernel.get_inputs()[0]
    with pytest.warns(RuntimeWarning, match="given by name"):
        torch.testing.assert_close(model(x, by=2.0), kernel.Model.forward(model, x, 2.0))


@pytest.mark.parametrize(("labels", "said"), [((Label.FIXED_INPUTS,), "by is not 2.0, as it was"), ((), "")])
def test_a_number_that_never_varied_is_taken_as_built_in(labels: tuple[Label, ...], said: str, tmp_path: Path) -> None:
    written(made.exported(labels=labels), "module", tmp_path / "export")
    kernel = load(tmp_path / "export" / "two_layers_kernel.py")
    given = kernel.ModelNew(16).given(kernel.get_inputs())
    assert kernel.unfit(given) == ""
    assert kernel.unfit((given[0], 3.0, *given[2:])).startswith(said)


def test_a_reference_that_knows_modes_is_left_alone_in_eval_mode(tmp_path: Path) -> None:
    problem = made.PROBLEM.replace("self.register_buffer", "self.drop = nn.Dropout(0.0)\n        self.register_buffer")
    written(made.exported(problem=problem), "module", tmp_path / "export")
    kernel = load(tmp_path / "export" / "two_layers_kernel.py")
    with torch.no_grad(), pytest.warns(RuntimeWarning, match="made for train mode"):
        kernel.ModelNew(16).eval()(*kernel.get_inputs())


@NEEDS_COMPILER
@pytest.mark.usefixtures("without_gradients")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        (made.SOURCE.replace("return 0;", "return 7;"), "launch returned 7"),
        (made.SOURCE.replace("return 0;", "return gone;"), "does not compile"),
    ],
)
def test_a_launch_that_fails_raises(source: str, said: str, tmp_path: Path) -> None:
    written(made.exported(source, name=f"fails_{said.split()[-1]}"), "module", tmp_path / "export")
    [file] = (tmp_path / "export").glob("fails_*.py")
    kernel = load(file)
    with pytest.raises(RuntimeError, match=said):
        kernel.ModelNew(16)(*kernel.get_inputs())


# ── hostile texts ───────────────────────────────────────────────────────────────────────────────

HOSTILE_NAME = 'a"""\nimport os; os.abort()\n\x1b[31m\\</script>{{ 7 * 7 }}'
HOSTILE_TEXT = '"""\\"""\r\n{{ 7 * 7 }} {% endraw %} \u202e </script> \x1b[2J \'\'\' \\N{DASH}'


@NEEDS_COMPILER
@pytest.mark.usefixtures("without_gradients")
@pytest.mark.parametrize("form", ["module", "kernelbench"])
def test_hostile_names_and_sources_stay_texts(form: str, tmp_path: Path) -> None:
    source = f"{made.SOURCE}\n/* {HOSTILE_TEXT} */\n"
    problem = made.PROBLEM.replace('"""Scaled', f"HOSTILE = {HOSTILE_TEXT!r}\n'''Scaled").replace(
        'number."""', "number.'''"
    )
    export = replace(
        made.exported(source, problem), problem=replace(made.exported(problem=problem).problem, name=HOSTILE_NAME)
    )
    manifest = written(export, form, tmp_path / "export")
    files = {path.name: path for path in (tmp_path / "export").glob("*.py")}
    assert all(name.isascii() and name.removesuffix(".py").isidentifier() for name in files)
    kernel = load(
        next(
            path
            for name, path in files.items()
            if name.endswith(("_kernel.py", "model_new.py")) and not name.startswith("test_")
        )
    )
    assert source == kernel.SOURCE
    assert kernel.reference.HOSTILE == HOSTILE_TEXT
    inputs, model = kernel.get_inputs(), kernel.ModelNew(16)
    torch.testing.assert_close(model(*inputs), kernel.Model.forward(model, *inputs))
    assert manifest["problem"]["name"] == HOSTILE_NAME
    for path in (tmp_path / "export").iterdir():
        if path.name != "reference.py":  # the problem's own text, to the letter
            assert all(character.isprintable() or character == "\n" for character in path.read_text()), path.name


@pytest.mark.parametrize("name", ["1_Matmul", "a-b c", "日本", "", "class", "torch", "x" * 300])
def test_any_name_becomes_a_file_that_can_be_imported(name: str) -> None:
    export = replace(made.exported(), problem=replace(made.exported().problem, name=name))
    assert module.file_name(export).isidentifier()
    assert len(module.file_name(export)) < 80


@pytest.mark.parametrize(
    ("origin", "reached"),
    [
        ("weight", "self.weight"),
        ("layers.0.weight", "getattr(self.layers, '0').weight"),
        ("if.a-b", "getattr(getattr(self, 'if'), 'a-b')"),
    ],
)
def test_parameters_are_reached_by_any_dotted_name(origin: str, reached: str) -> None:
    assert module.attribute(origin) == reached


# ── KernelBench ─────────────────────────────────────────────────────────────────────────────────


@NEEDS_COMPILER
def test_modelnew_is_taken_as_kernelbench_takes_it(tmp_path: Path) -> None:
    """Both texts executed in one namespace, the second below lines that name a build folder; parameters from one seed,
    no torch.no_grad() while it is timed."""
    written(made.exported(), "kernelbench", tmp_path / "export")
    context: dict[str, Any] = {}
    exec((tmp_path / "export" / "reference.py").read_text(), context)
    first, inputs, arguments = context["Model"], context["get_inputs"](), context["get_init_inputs"]()
    exec(f"import os\n{(tmp_path / 'export' / 'model_new.py').read_text()}", context)
    torch.manual_seed(42)
    expected = first(*arguments)
    torch.manual_seed(42)
    model = context["ModelNew"](*arguments).to(dtype=torch.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = model(*inputs)
    torch.testing.assert_close(got, expected(*inputs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("error", "eager", "met"),
    [(1e-6, 1e-7, True), (2e-4, 1e-7, False), (2e-4, 3e-4, None), (1e-6, 3e-4, None)],
)
def test_an_error_above_kernelbenchs_tolerance_is_labelled(
    error: float, eager: float, met: bool | None, tmp_path: Path
) -> None:
    manifest = written(made.exported(error=error, eager=eager), "kernelbench", tmp_path / "export")
    said = manifest["kernelbench"]
    assert (said["precision"], said["tolerance"], said["within_tolerance"]) == ("float32", 1e-4, met)
    assert [f"the largest error that was seen is {error:.2g}" in one for one in manifest["remarks"]] == [True] * (
        not met
    )
    assert ("xfail" in (tmp_path / "export" / "test_model_new.py").read_text()) is not bool(met)


# ── modules, which export as they are ───────────────────────────────────────────────────────────


def test_a_module_exports_as_it_is(tmp_path: Path) -> None:
    written(made.exported(MODELNEW, language=languages.named("module")), "module", tmp_path / "export")
    assert (tmp_path / "export" / "two_layers_kernel.py").read_text() == MODELNEW
    assert (tmp_path / "export" / "reference.py").read_text() == made.PROBLEM


# ── CUDA ────────────────────────────────────────────────────────────────────────────────────────


def softmax() -> Exported:
    problem = (ROOT / "problems" / "softmax.py").read_text()
    return made.exported(SOFTMAX, problem, name="softmax", language=CUDA)


def two_layers() -> Exported:
    """With parameters, a number, a buffer and working memory."""
    return made.exported(made.CUDA_SOURCE, language=CUDA)


@pytest.mark.nvcc
@pytest.mark.parametrize("kernel_of", [softmax, two_layers])
def test_a_cuda_module_compiles_for_its_architecture(kernel_of: Callable[[], Exported], tmp_path: Path) -> None:
    export = kernel_of()
    written(export, "module", tmp_path / "export")
    kernel = load(tmp_path / "export" / f"{module.file_name(export)}.py")
    tool = kernel.compiler()
    kernel.build([tool, *kernel.FLAGS, *kernel.runtime(tool)], tmp_path / "kernel.so")
    listed = subprocess.run(["nm", "-D", tmp_path / "kernel.so"], capture_output=True, text=True, check=True).stdout
    assert " T launch" in listed
    assert b"sm_90a" in (tmp_path / "kernel.so").read_bytes()


def test_a_cuda_module_says_that_a_cpu_is_none_of_its_devices(tmp_path: Path) -> None:
    written(softmax(), "module", tmp_path / "export")
    kernel = load(tmp_path / "export" / "softmax_kernel.py")
    assert kernel.unfit((torch.empty(4096, 65536),)) == "tensors are on cpu, not on cuda"
    with torch.no_grad(), pytest.warns(RuntimeWarning, match="the reference computes this"):
        kernel.ModelNew()(torch.ones(2, 3))


def test_a_cuda_module_has_what_the_lint_asks_of_others(tmp_path: Path) -> None:
    text = str(formats.FORMATS["module"].files(softmax())["softmax_kernel.py"])
    for needed in (
        "torch.cuda.device(device)",
        "current_stream(device)",
        "get_device_capability",
        "torch.empty(size, dtype=torch.uint8",
    ):
        assert needed in text


@pytest.mark.gpu
@pytest.mark.parametrize("form", ["module", "kernelbench"])
@pytest.mark.parametrize("kernel_of", [softmax, two_layers])
def test_a_cuda_export_passes_the_tests_that_go_with_it(
    form: str, kernel_of: Callable[[], Exported], tmp_path: Path
) -> None:
    written(kernel_of(), form, tmp_path / "export")
    assert set(judged(tmp_path / "export").values()) == {"PASSED"}


# ── the manifest ────────────────────────────────────────────────────────────────────────────────


def test_the_manifest_says_where_a_kernel_comes_from_and_what_was_measured(folder: Path) -> None:
    text = (folder / "manifest.json").read_text()
    said = json.loads(text)
    assert text.isascii(), "no character of a model's reaches a terminal"
    assert (said["human_reviewed"], said["verified_now"]) == (False, False)
    assert said["verification"] == {"not_done": ABSENT.absent}
    assert [step["written_by"]["answered_by"] for step in said["ancestors"]] == ["o3 (a0)", "o3 (a2)"]
    assert said["ancestors"][0]["idea"] is None
    assert said["ancestors"][1]["idea"]["title"] == made.IDEA.title
    assert said["ancestors"][1]["idea"]["proposed_by"]["answered_by"] == "o3 (a1)"
    assert [one["name"] for one in said["timing"]["baselines"]] == ["eager", "torch.compile"]
    assert said["timing"]["baselines"][0]["speedup"] == {"value": 3.2, "interval_95": [3.1, 3.3]}
    assert said["accuracy"]["worst_error"] < said["accuracy"]["tolerance"]
    assert {one["origin"]: one["shape"] for one in said["problem"]["arguments"]}["layers.0.weight"] == [8, 16]
    assert said["cost_of_run"]["answers"] == 3
    assert said["device"]["name"] == "AMD EPYC"
