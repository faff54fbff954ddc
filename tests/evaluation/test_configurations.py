"""Torch under other settings than the reference's own: which are tried, which of them count, and on whose terms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from treesearch import problem
from treesearch.errors import MachineError
from treesearch.evaluation import configurations, device, inputs, lanes
from treesearch.evaluation.baselines import Baselines
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.configurations import ON_CPU, ON_GPU, Settings
from treesearch.problem.reference import Reference
from treesearch.records import Problem, Protocol, Timing

PRODUCT = """
import os
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(32, 32))

    @torch.compiler.disable
    def forward(self, x):
        out = x @ self.weight
        if torch.get_float32_matmul_precision() == "medium":
            EFFECT
        return out

def get_inputs():
    return [torch.randn(8, 32)]

def get_init_inputs():
    return []
"""
"""A product that notices when torch is set to another precision."""

CONVOLUTION = """
import json
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3)

    @torch.compiler.disable
    def forward(self, x):
        with open("LOG", "a") as log:
            last = [t.is_contiguous(memory_format=torch.channels_last) for t in (x, self.conv.weight)]
            log.write(json.dumps(last) + "\\n")
        return self.conv(x)

def get_inputs():
    return [torch.randn(2, 4, 8, 8)]

def get_init_inputs():
    return []
"""
MEDIUM = ("matmul precision medium", "max-autotune + matmul precision medium")


def product(effect: str) -> Problem:
    return problem.from_source("product", PRODUCT.replace("EFFECT", effect))


@contextmanager
def configured(subject: Problem, kind: str = "cpu") -> Iterator[Baselines]:
    """Thorough baselines on this machine's device of a kind, once every configuration was tried."""
    lane = lanes.of(device.local(kind))
    protocol = Protocol(subject.tolerance, nominal_calls=2, repeats=1)
    reference = Reference(subject.name, subject.source, lane.device)
    with ExitStack() as made:
        sets = [BufferSet(subject.signature, lane.tensors) for _ in range(2)]
        sample = inputs.sample(subject, reference, 1)
        for buffers in sets:
            made.callback(buffers.close)
            buffers.fill(sample.values)
        lane.join()
        baselines = Baselines(subject, protocol, lane, sets, sample.scalars, thorough=True)
        made.callback(baselines.close)
        deck = inputs.draw(subject, reference, protocol, 1)
        baselines.wait()
        baselines.configure(deck)
        yield baselines


def samples(baselines: Baselines) -> dict[str, Timing]:
    return {which: Timing(tuple(baselines.time(which, 0, ()) for _ in range(3))) for which in baselines.kinds}


def test_a_configuration_that_is_wrong_where_kernels_may_not_be_is_rejected_and_the_others_are_timed() -> None:
    with configured(product("out = out + 0.1")) as baselines:
        assert baselines.kinds == ("eager", "compile", "max-autotune")
        timings = samples(baselines)
        found = {one.name: one for one in baselines.configured(timings["eager"], timings)}
    assert set(found) == {"max-autotune", *MEDIUM}
    assert found["max-autotune"].timing == timings["max-autotune"]
    assert found["max-autotune"].speedup is not None
    assert all("rows beyond the tolerance" in found[name].error for name in MEDIUM), found


def test_one_that_raises_or_dies_is_rejected_with_what_it_said_unless_it_was_right_before(tmp_path: Path) -> None:
    mark, late = str(tmp_path / "mark"), tmp_path / "late"
    effect = f"""
            if os.path.exists({mark!r}):
                os._exit(3)
            open({mark!r}, "w").close()
            raise ValueError("not today")
        if os.path.exists({str(late)!r}):
            raise ValueError("too late")"""
    with configured(product(effect)) as baselines:
        timings = samples(baselines)
        found = {one.name: one.error for one in baselines.configured(timings["eager"], timings)}
        late.touch()
        with pytest.raises(MachineError, match=r"\(max-autotune\): ValueError: too late"):
            baselines.time("max-autotune", 0, ())
    assert found[MEDIUM[0]] == "ValueError: not today"
    assert found[MEDIUM[1]].startswith("it killed its process: it exited with code 3")


def test_channels_last_converts_weights_and_inputs_and_answers_in_the_references_layout(tmp_path: Path) -> None:
    """Every call of the deck has weights of its own, so that stale copies of them would be rejected."""
    log = tmp_path / "log"
    subject = problem.from_source("convolution", CONVOLUTION.replace("LOG", str(log)))
    with configured(subject) as baselines:
        assert baselines.kinds == ("eager", "compile", "channels_last", "torch.compile + channels_last")
        for which, seen in (("eager", "[false, false]"), ("channels_last", "[true, true]")):
            log.unlink()
            baselines.time(which, 1, ())
            assert log.read_text().splitlines() == [seen]


@pytest.mark.parametrize(
    ("name", "on_cpu", "on_gpu"),
    [
        ("bias_silu_clamp", set(), {"max-autotune"}),
        ("softmax", set(), {"max-autotune"}),
        ("matmul_fp16", {"max-autotune"}, {"max-autotune"}),
        (
            "matmul_fp32",
            {"max-autotune", *MEDIUM},
            {"TF32", "torch.compile + TF32", "max-autotune", "max-autotune + TF32"},
        ),
        ("conv2d", {"channels_last", "torch.compile + channels_last"}, {settings.name for settings in ON_GPU}),
    ],
)
def test_what_cannot_matter_for_a_problem_is_not_tried(name: str, on_cpu: set[str], on_gpu: set[str]) -> None:
    subject = problem.load(name)
    assert {settings.name for settings in configurations.chosen(subject, "cpu")} == on_cpu
    assert {settings.name for settings in configurations.chosen(subject, "cuda")} == on_gpu


def test_a_reference_that_does_not_run_without_data_has_everything_tried() -> None:
    source = CONVOLUTION.replace("return self.conv(x)", "return self.conv(x * x.max().item())")
    subject = replace(problem.load("conv2d"), source=source.replace("LOG", "/dev/null"))
    assert configurations.chosen(subject, "cpu") == ON_CPU


def test_every_configuration_has_a_name_of_its_own_that_says_all_of_it() -> None:
    assert len({settings.name for settings in (*ON_CPU, *ON_GPU)}) == len({*ON_CPU, *ON_GPU})
    whole = Settings("max-autotune", channels_last=True, cudnn_benchmark=True, tf32=True, matmul_precision="high")
    assert whole.name == "max-autotune + channels_last + cudnn.benchmark + TF32 + matmul precision high"


def test_settings_set_torch_and_leave_alone_what_they_do_not_name() -> None:
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.benchmark, matmul.allow_tf32, cudnn.allow_tf32
    try:
        Settings(cudnn_benchmark=True).apply()
        assert (cudnn.benchmark, matmul.allow_tf32) == (True, before[1])
        Settings(tf32=True).apply()
        assert (matmul.allow_tf32, cudnn.allow_tf32) == (True, True)
    finally:
        cudnn.benchmark, matmul.allow_tf32, cudnn.allow_tf32 = before


@pytest.mark.gpu
def test_on_a_gpu_each_configuration_of_a_convolution_is_right() -> None:
    with configured(problem.load("conv2d"), "cuda") as baselines:
        timings = samples(baselines)
        found = baselines.configured(timings["eager"], timings)
    assert {one.name: one.error for one in found} == {settings.name: "" for settings in ON_GPU}
