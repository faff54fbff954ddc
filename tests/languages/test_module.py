"""The language of Python modules: what it is told, what it runs on, and how its answers are recognised."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests import test_prompts_cuda as gpu
from tests.test_prompts import DEVICE, PROBLEM, check_golden, failed, kernel, verified
from treesearch import answers, languages, prompts
from treesearch.languages import CPP, CUDA
from treesearch.languages.module import MODULE
from treesearch.records import Category, Entry, Idea, Status

SOURCE = """\
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        return torch.relu(x + self.bias)
"""
IDEA = Idea("Add in place", Category.MEMORY, "`torch.relu_` on the sum saves a pass over memory.", 1.3, "None.")


def first() -> str:
    return prompts.kernel(PROBLEM, MODULE, DEVICE, parent=None, idea=None, variant=0, variants=1)


def on_gpu() -> str:
    return prompts.kernel(gpu.PROBLEM, MODULE, gpu.DEVICE, parent=None, idea=None, variant=0, variants=1)


def entry(status: Status | None = None) -> Entry:
    made = replace(kernel(0, "0"), language="module", source=SOURCE)
    return failed(made, status, "the reason") if status else verified(made, 1.5)


def test_the_first_module() -> None:
    check_golden("module_kernel_first", first())


def test_a_module_for_an_idea_on_a_gpu() -> None:
    parent = entry()
    text = prompts.kernel(gpu.PROBLEM, MODULE, gpu.DEVICE, parent=parent, idea=IDEA, variant=1, variants=2)
    check_golden("module_kernel", text)


def test_a_repair_of_a_module() -> None:
    check_golden("module_repair", prompts.repair(PROBLEM, MODULE, DEVICE, entry(Status.BROKE_CONTRACT), IDEA))


def test_nothing_of_the_c_contract_is_asked_of_a_module() -> None:
    texts = [first(), on_gpu()]
    texts += [prompts.repair(PROBLEM, MODULE, DEVICE, entry(status), IDEA) for status in (Status.CRASHED, Status.WRONG)]
    for text in texts:
        assert not re.search(r"problem\.h|`launch`|extern|static_assert|scratch_bytes", text.split("## Hopper")[0]), (
            text
        )
        assert "`class ModelNew(nn.Module)`" in text


def test_a_module_runs_on_a_gpu_rather_than_on_a_cpu() -> None:
    assert MODULE.device_kinds == ("cuda", "cpu")
    assert MODULE.runs_on("cpu")
    assert not CPP.runs_on("cuda")


def test_a_device_alone_is_searched_in_a_language_of_the_c_contract() -> None:
    assert (languages.for_device("cpu"), languages.for_device("cuda")) == (CPP, CUDA)
    assert not MODULE.sealed
    assert languages.of_file(Path("a/kernel.py")) is languages.named("module") is MODULE


@pytest.mark.parametrize("tag", ["python", "py", ""])
def test_the_block_with_the_class_is_taken(tag: str) -> None:
    text = f"The plan.\n\n```{tag}\n{SOURCE}```\n\nThe gist is:\n\n```python\ntorch.relu_(x)\n```\n"
    assert answers.code(text, MODULE.fences, MODULE.entry) == SOURCE


def test_a_class_in_a_block_of_another_language_does_not_count() -> None:
    assert answers.code(f"```json\n{SOURCE}```", MODULE.fences, MODULE.entry) is None
    assert answers.code("```python\ndef launch(x): ...\n```", MODULE.fences, MODULE.entry) is None
