"""A way from a reference and a kernel to a verdict."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest

from treesearch import languages, problem
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Evaluation, Problem, Protocol

Judge = Callable[[Problem, str], Evaluation]


@pytest.fixture
def judged() -> Iterator[Judge]:
    """Judges bodies of `launch` on a small deck, one evaluator for each problem that a test makes."""
    if shutil.which("g++") is None:
        pytest.skip("g++ was not found, and this test builds kernels with it")

    evaluators: dict[str, Evaluator] = {}

    def judge(subject: Problem, body: str) -> Evaluation:
        prototype = languages.CPP.prototype(subject).rstrip(";")
        source = f'#include "problem.h"\n#include <math.h>\n{prototype} {{\n{body}\nreturn 0;\n}}\n'
        if subject.digest not in evaluators:
            protocol = Protocol(subject.tolerance, nominal_calls=3, repeats=1)
            evaluators[subject.digest] = Evaluator(subject, languages.CPP, protocol, seed=3)
        return evaluators[subject.digest].evaluate(source)

    yield judge
    for evaluator in evaluators.values():
        evaluator.close()


@pytest.fixture
def handmade() -> Callable[..., Problem]:
    """A problem of a few lines: forward's parameters and body, inputs, lines of __init__."""

    def make(forward: str, inputs: str, init: str = "pass", extra: str = "") -> Problem:
        return problem.from_source("handmade", source_of(forward, inputs, init, extra))

    return make


def source_of(forward: str, inputs: str, init: str = "pass", extra: str = "") -> str:
    parameters, _, body = forward.partition(": ")
    return f"""
import torch
from torch import nn
{extra}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    @torch.compiler.disable
    def forward(self, {parameters}):
        {body}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""
