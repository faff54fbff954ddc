"""Candidates that are Python modules: what they are given, what becomes of them, and what is compiled when."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from treesearch import problem
from treesearch.evaluation import lanes
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.build import Built
from treesearch.evaluation.open import adopt, manners, places
from treesearch.evaluation.open.bare import KERNEL, Bare
from treesearch.evaluation.open.build import build
from treesearch.evaluation.open.candidate import Candidate
from treesearch.evaluation.open.contract import Broken
from treesearch.evaluation.sandbox import Child, ChildDied
from treesearch.evaluation.target import HERE
from treesearch.languages.module import MODULE
from treesearch.records import Problem, Protocol, Role

SCALE = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, features, eps):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(features) + eps)
        self.register_buffer("shift", torch.rand(features))

    @torch.compiler.disable
    def forward(self, x):
        return torch.relu(x) * self.scale + self.shift

def get_inputs():
    return [torch.randn(64, 128)]

def get_init_inputs():
    return [128, 0.5]
"""

HEAD = """
import torch
from torch import nn
"""
RIGHT = f"""{HEAD}
class ModelNew(nn.Module):
    def __init__(self, features, eps):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(features))
        self.register_buffer("shift", torch.zeros(features))

    def forward(self, x):
        return torch.addcmul(self.shift, torch.relu(x), self.scale)
"""
OTHER_NAMES = (
    RIGHT.replace("self.scale", "self.gain").replace('"shift"', '"offset"').replace("self.shift", "self.offset")
)

COMPILED = f"""{HEAD}
import ctypes
from torch.utils.cpp_extension import load_inline

path = load_inline(
    "halves",
    cpp_sources='extern "C" void twice(float* x, long n) {{ for (long i = 0; i < n; ++i) x[i] *= 2; }}',
    is_python_module=False,
    no_implicit_headers=True,
    verbose=True,
)
"""


@dataclass
class Bench:
    """A problem's buffers, and the lane of modules on this machine's CPU."""

    problem: Problem
    lane: lanes.Lane
    sets: list[BufferSet]

    def build(self, source: str) -> Built:
        return build(self.problem, MODULE, source)

    def fill(self, index: int, seed: int) -> torch.Tensor:
        """New contents behind the same pointers; returns the right answer."""
        torch.manual_seed(seed)
        tensors = self.sets[index].tensors
        self.sets[index].fill(
            {
                one.name: torch.randn(one.shape)
                for one in self.problem.signature.arguments
                if one.role is not Role.OUTPUT
            }
        )
        given = {name: shared.tensor for name, shared in tensors.items()}
        return torch.relu(given["x"]) * given["scale"] + given["shift"]

    def output(self, index: int) -> torch.Tensor:
        return self.sets[index].outputs()[0]

    @contextmanager
    def started(self, source: str) -> Iterator[tuple[Child, dict[str, Any]]]:
        """A worker behind its walls, and what it answered to the description of the call."""
        built = self.build(source)
        assert built.library is not None, built.error
        self.lane.prepare(built.library)
        protocol = Protocol(self.problem.tolerance, threads=1)
        with Child(
            lanes.worker_command(self.lane),
            limits=self.lane.limits,
            descriptors=[descriptor for buffers in self.sets for descriptor in buffers.descriptors],
            variables=self.lane.variables(protocol),
            walls=self.lane.walls(built.library),
        ) as child:
            sets = [buffers.description() for buffers in self.sets]
            call = {"library": str(built.library), "sets": sets, "scalars": [], **self.lane.start}
            assert child.ask(call, 60) == {}
            assert child.ask({}, 10) == child.ask({}, 10) == {}
            yield child, child.ask({"load": True}, 60)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    subject = problem.from_source("scale", SCALE)
    hardware = HERE.of_kind("cpu")
    sets = [BufferSet(subject.signature) for _ in range(2)]
    made = Bench(subject, lanes.opened(lanes.of(hardware), subject, hardware), sets)
    for index in range(2):
        made.fill(index, index)
    yield made
    for buffers in sets:
        buffers.close()


def launched(child: Child, question: dict[str, Any]) -> dict[str, Any]:
    """The reply to a question that is announced, and begun."""
    assert child.ask(question, 10) == {}
    return child.ask({}, 10)


@pytest.mark.parametrize("source", [RIGHT, OTHER_NAMES], ids=["by name", "by order"])
def test_new_weights_and_buffers_appear_behind_the_same_pointers(bench: Bench, source: str) -> None:
    with bench.started(source) as (child, ready):
        assert ready == {}
        for seed, index in enumerate((0, 1, 0, 0)):
            right = bench.fill(index, 10 + seed)
            reply = launched(child, {"set": index, "scalars": []})
            assert reply["code"] == 0
            assert reply["nanoseconds"] > 0
            torch.testing.assert_close(bench.output(index), right)


def test_a_burst_answers_once_with_the_time_of_all_its_calls(bench: Bench) -> None:
    slow = RIGHT.replace("def forward(self, x):", "def forward(self, x):\n        import time; time.sleep(0.02)")
    with bench.started(slow) as (child, _):
        right = [bench.fill(index, index) for index in range(2)]
        started = time.monotonic()
        reply = launched(child, {"burst": [1, 0, 1, 0, 1], "scalars": [[]] * 5})
        taken = time.monotonic() - started
        assert 0.1 <= reply["nanoseconds"] / 1e9 <= taken
        for index in range(2):
            torch.testing.assert_close(bench.output(index), right[index])
        assert launched(child, {"burst": [1, 0], "scalars": [[], []], "idle": True})["nanoseconds"] < 2e7
        assert launched(child, {}) == {}


def test_a_warm_launch_is_the_second_of_two_and_answers(bench: Bench) -> None:
    with bench.started(RIGHT) as (child, _):
        right = bench.fill(1, 5)
        bench.output(1).fill_(float("nan"))
        reply = launched(child, {"warm": 1, "scalars": []})
        assert reply["nanoseconds"] > 0
        torch.testing.assert_close(bench.output(1), right)


def test_a_model_that_answers_in_the_same_memory_every_time_breaks_the_contract(bench: Bench) -> None:
    model, own = Scale(), torch.empty(0)
    model.returned = lambda right: own.resize_as_(right).copy_(right)
    with pytest.raises(Broken, match="output 0 is in memory that an earlier call's still holds"):
        candidate(bench, model)


def test_sets_without_a_model_are_launched_on_the_first_ones(bench: Bench) -> None:
    """The set gives inputs and takes outputs; parameters and buffers are the model's."""
    judged = candidate(bench, Scale())
    second = bare(bench, 1)
    right = bench.fill(1, 4)
    for name in ("scale", "shift"):
        bench.sets[0].tensors[name].tensor.copy_(bench.sets[1].tensors[name].tensor)
    with torch.no_grad():
        judged.launch(KERNEL, [], second.subject)
    torch.testing.assert_close(bench.output(1), right)


def test_an_output_that_is_not_written_is_not_the_last_answer(bench: Bench) -> None:
    model, kept = Scale(), list[torch.Tensor]()

    def returned(right: torch.Tensor) -> torch.Tensor:
        kept.append(right)
        return kept[min(len(kept) - 1, 5)]  # after a few calls, what was answered then

    model.returned = returned
    judged = candidate(bench, model)
    with torch.no_grad():
        [judged.launch(KERNEL, [], judged.subject) for _ in range(2)]
    assert bench.output(0).isnan().all()


def test_an_answer_that_shares_memory_with_an_input_is_copied_out(bench: Bench) -> None:
    model = Scale()
    model.forward = lambda x: x  # type: ignore[method-assign]
    judged = candidate(bench, model)
    bench.fill(0, 6)
    [judged.launch(KERNEL, [], judged.subject) for _ in range(3)]
    assert torch.equal(bench.output(0), bench.sets[0].tensors["x"].tensor)


class Lazy(torch.Tensor):
    """A tensor that could do its work where it is copied, after the clock has stopped."""


class Scale(nn.Module):
    """Right, but for what a test changes."""

    def __init__(self, gain: str = "scale", dtype: torch.dtype = torch.float32, shift: bool = True) -> None:
        super().__init__()
        self.register_parameter(gain, nn.Parameter(torch.zeros(128, dtype=dtype)))
        if shift:
            self.register_buffer("shift", torch.zeros(128))
        self.returned: Callable[[torch.Tensor], object] = lambda right: right

    def forward(self, x: torch.Tensor) -> object:
        return self.returned(torch.relu(x) * self.get_parameter("scale") + self.get_buffer("shift"))


class More(Scale):
    def __init__(self) -> None:
        super().__init__()
        self.more = nn.Parameter(torch.zeros(3))


RETURNED: dict[str, tuple[Callable[[torch.Tensor], object], str]] = {
    "count": (lambda right: (1, right), "forward returns 2 values, and the reference 1"),
    "shape": (lambda right: right[:32], "output 0 is (32, 128) of float32 on cpu; it has to be (64, 128) of float32"),
    "dtype": (lambda right: right.double(), "output 0 is (64, 128) of float64 on cpu"),
    "subclass": (lambda right: right.as_subclass(Lazy), "output 0 is a Lazy, not a plain torch.Tensor"),
    "nothing": (lambda right: None, "output 0 is a NoneType, not a plain torch.Tensor"),
    "device": (lambda right: right.to("meta"), "(64, 128) of float32 on meta"),
}


def bare(bench: Bench, index: int) -> Bare:
    """In this process, which spares the seconds that another takes to import torch."""
    described = [{**one, "descriptor": os.dup(one["descriptor"])} for one in bench.sets[index].description()]
    return Bare({"scalars": [], "arguments": bench.lane.start["signature"], "device": "cpu"}, described)


def candidate(bench: Bench, model: object) -> Candidate:
    with torch.no_grad():
        return Candidate(model, bare(bench, 0))


@pytest.mark.parametrize(("returned", "said"), RETURNED.values(), ids=RETURNED.keys())
def test_outputs_of_another_form_break_the_contract(
    bench: Bench, returned: Callable[[torch.Tensor], object], said: str
) -> None:
    model = Scale()
    model.returned = returned
    with pytest.raises(Broken) as told:
        candidate(bench, model)
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            Scale(gain="gain", dtype=torch.float64),
            "lacks scale, (128,) of float32; has gain, (128,) of float64, which the",
        ),
        (Scale(dtype=torch.float16), "it has scale as (128,) of float16 instead of (128,) of float32"),
        (Scale(shift=False), "ModelNew's buffers are not the reference's, by name or in order: it lacks shift"),
        (More(), "it has more, (3,) of float32, which the reference has not"),
        (object(), "ModelNew is not a torch.nn.Module"),
    ],
    ids=["name", "dtype", "buffer", "parameter", "class"],
)
def test_what_differs_from_the_reference_is_named(bench: Bench, model: object, said: str) -> None:
    with pytest.raises(Broken) as told:
        candidate(bench, model)
    assert said in str(told.value)


def test_the_clock_runs_until_an_output_is_dense(bench: Bench) -> None:
    model = Scale()
    model.returned = lambda right: right.t().contiguous().t()
    assert all(output.is_contiguous() for output in candidate(bench, model).last)
    model.returned = lambda right: torch._neg_view(-right)
    assert not any(output.is_neg() for output in candidate(bench, model).last)


def test_a_forward_may_change_its_buffers(bench: Bench) -> None:
    """As batch normalization does in train mode; before the next call they are the shared ones again."""
    model = Scale()
    model.returned = lambda right: (right.clone(), model.get_buffer("shift").add_(1))[0]
    judged = candidate(bench, model)
    right = bench.fill(0, 4)
    with torch.no_grad():
        [judged.launch(KERNEL, [], judged.subject) for _ in range(3)]
    torch.testing.assert_close(bench.output(0), right)


@pytest.mark.parametrize("manner", sorted({*manners.ALL}))
def test_a_module_is_called_in_other_manners_and_is_afterwards_as_before(
    bench: Bench, manner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manners, "frozen", nullcontext)
    model, seen = Scale(), list[tuple[bool, ...]]()

    def watched(right: torch.Tensor) -> torch.Tensor:
        modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        seen.append((model.training, *modes, right.requires_grad, right.is_contiguous()))
        return right

    model.returned = watched
    judged, right = candidate(bench, model), bench.fill(0, 4)
    seen.clear()
    with torch.no_grad():
        assert judged.otherwise(manner, [], judged.subject) == ""
    differentiated, inferring = manner == manners.DIFFERENTIATED, manner == manners.INFERRING
    training = manner not in manners.IN_EVAL
    dense = not manner.startswith(manners.TRANSPOSED)  # operators keep such an order, and close gaps
    once = (training, differentiated, inferring, differentiated, dense)
    calls = {manners.EVALUATING: 2, manners.COPIED: 2, manners.REFILLED: 4}  # the last one answers
    assert seen == [once] * calls.get(manner, 1)
    torch.testing.assert_close(bench.output(0), right)
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_a_module_that_refuses_a_manner_says_why(bench: Bench) -> None:
    model = Scale()
    judged = candidate(bench, model)
    model.returned = lambda right: 1 / 0
    with torch.no_grad():
        assert judged.otherwise(manners.EVALUATING, [], judged.subject) == "ZeroDivisionError: division by zero"
    assert model.training


def test_an_output_whose_memory_alone_is_kept_is_its_callers_too(bench: Bench) -> None:
    class Pooled(Scale):
        """Gives memory again once nobody holds the tensor that it was given as."""

        pool: torch.Tensor | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            right: torch.Tensor = torch.as_tensor(super().forward(x))
            if self.pool is None or sys.getrefcount(self.pool) > 2:
                self.pool = torch.empty_like(right)
            return self.pool.copy_(right)

    with pytest.raises(Broken, match="an earlier call's still holds"):
        candidate(bench, Pooled())


def test_new_contents_raise_the_versions_of_parameters_and_inputs(bench: Bench) -> None:
    model, seen = Scale(), list[tuple[int, ...]]()
    judged = candidate(bench, model)

    def watched(right: torch.Tensor) -> torch.Tensor:
        given = judged.latest.inputs[0]
        assert isinstance(given, torch.Tensor)
        seen.append((model.get_parameter("scale")._version, given._version))
        return right

    model.returned = watched
    with torch.no_grad():
        [judged.launch(KERNEL, [], judged.subject) for _ in range(3)]
    assert all(after > before for one, other in pairwise(seen) for before, after in zip(one, other, strict=True))
    assert len(seen) == 3


def test_a_copy_that_is_none_breaks_the_contract(bench: Bench) -> None:
    class Same(Scale):
        def __deepcopy__(self, memo: object) -> Same:
            return self

    judged = candidate(bench, Same())
    with pytest.raises(Broken, match="memory in common"), torch.no_grad():
        judged.otherwise(manners.COPIED, [], judged.subject)


def test_a_copy_in_another_mode_breaks_the_contract(bench: Bench) -> None:
    class Forgetful(Scale):
        def __deepcopy__(self, memo: object) -> Forgetful:
            return Forgetful()

    judged = candidate(bench, Forgetful())
    with pytest.raises(Broken, match="in another mode"), torch.no_grad():
        judged.otherwise(manners.COPIED, [], judged.subject)


def test_a_state_dict_that_lacks_a_parameter_breaks_the_contract(bench: Bench) -> None:
    class Secretive(Scale):
        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            return {"shift": self.get_buffer("shift")}

    with pytest.raises(Broken, match="does not hold what the reference has as scale"):
        candidate(bench, Secretive())


def test_an_exception_is_told_with_its_line(bench: Bench) -> None:
    source = RIGHT.replace("return torch.addcmul(", "raise ValueError('no such ' + 5_000 * 'n')\n        torch.add(")
    with bench.started(source) as (_, reply):
        assert reply["failed"] == "crashed"
        assert reply["error"].startswith("ValueError: no such nnn")
        assert reply["error"].endswith("(line 12 of the module, in forward)")
        assert len(reply["error"]) < 1000


def test_a_failure_after_the_start_is_told_as_well(bench: Bench) -> None:
    source = RIGHT.replace("return torch", "if x[0, 0] == 7: raise SystemExit(0)\n        return torch")
    with bench.started(source) as (child, _):
        bench.fill(0, 8)
        bench.sets[0].tensors["x"].tensor[0, 0] = 7
        reply = launched(child, {"set": 0, "scalars": []})
        assert (reply["failed"], reply["error"]) == ("crashed", "SystemExit: 0 (line 12 of the module, in forward)")


def test_writing_to_an_input_kills_the_worker(bench: Bench) -> None:
    with pytest.raises(ChildDied), bench.started(RIGHT.replace("torch.relu(x)", "x.relu_()")):
        pass


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import torch\nclass Model: ...\n", "cannot import name 'ModelNew'"),
        ("class ModelNew(:\n", "SyntaxError"),
        (f"{HEAD}open('/tmp/../etc/passwd')\nclass ModelNew: ...\n", "Error"),
        (f"{HEAD}import socket\nsocket.create_connection(('127.0.0.1', 9))\nclass ModelNew: ...\n", "Error"),
    ],
    ids=["no class", "syntax", "a file of the user's", "network"],
)
def test_what_cannot_be_imported_has_not_been_built(bench: Bench, source: str, said: str) -> None:
    first, again = bench.build(source), bench.build(source)
    assert first.library is again.library is None
    assert said in first.error == again.error
    assert again.record.cached


@pytest.mark.compiler
def test_what_is_compiled_on_import_is_compiled_once(bench: Bench, tmp_path: Path) -> None:
    """The second process prints what ninja says, and what the first judgement left there is gone."""
    source = COMPILED + RIGHT.removeprefix(HEAD).replace(
        "        self.scale =",
        "        import os, pathlib; left = pathlib.Path(os.environ['TORCH_EXTENSIONS_DIR'], 'left')\n"
        "        assert not left.exists() or self.again, 'a file of an earlier judgement'\n"
        "        left.touch(); ModelNew.again = True\n"
        "        self.scale =",
    ).replace("    def __init__", "    again = False\n    def __init__")
    built = bench.build(source)
    assert built.library is not None, built.error
    assert "no work to do" not in built.record.log
    assert list((built.library.parent / places.PRISTINE).rglob("halves.so"))
    for _ in range(2):
        with bench.started(source) as (child, ready):
            assert ready == {}
            assert "ninja: no work to do." in child.output()
    assert bench.build(source).record.cached


def test_names_come_before_order() -> None:
    a, b, c = torch.zeros(2), torch.zeros(2), torch.zeros(3)
    assert adopt.places("parameter", {"a": a, "b": b}, {"b": b, "a": a}, {}) == {"a": "a", "b": "b"}
    assert adopt.places("parameter", {"a": a, "b": b}, {"p": a, "q": b}, {}) == {"a": "p", "b": "q"}
    assert adopt.places("parameter", {"a": a}, {}, {"a": a}) == {"a": "a"}
    assert adopt.places("buffer", {"a": a}, {"a": b, "table": c}, {}) == {"a": "a"}


def test_the_differences_of_many_parameters_are_bounded() -> None:
    wanted = {f"layer{index}.weight": torch.zeros(index) for index in range(50)}
    with pytest.raises(adopt.Differs) as told:
        adopt.places("parameter", wanted, {}, {})
    assert "lacks layer3.weight, (3,) of float32 and 46 more differences" in str(told.value)
