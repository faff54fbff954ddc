"""What a module has returned is its caller's, who may hold it for as long as it likes."""

from __future__ import annotations

import weakref

import pytest
import torch

from tests.evaluation.test_open import Bench, Scale, bench, candidate
from treesearch.evaluation.open import manners
from treesearch.evaluation.open.bare import KERNEL
from treesearch.evaluation.open.candidate import Candidate
from treesearch.evaluation.open.contract import Broken

__all__ = ["bench"]


class Damaging(Scale):
    """Writes to what it has returned `calls` calls ago."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls
        self.answers: list[weakref.ref[torch.Tensor]] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = torch.as_tensor(super().forward(x)) + 0
        earlier = self.answers.pop(0)() if len(self.answers) == self.calls else None
        if earlier is not None:
            earlier.detach()[:, 3:5] = 7
        self.answers.append(weakref.ref(answer))
        return answer


def call(judged: Candidate, times: int = 1) -> None:
    for _ in range(times):
        with torch.no_grad():
            judged.launch(KERNEL, [], judged.subject)
            judged.settle()


def test_a_call_that_writes_to_the_last_answer_breaks_the_contract(bench: Bench) -> None:
    with pytest.raises(Broken, match="writes to what an earlier one has returned"):
        candidate(bench, Damaging(1))


def test_one_that_writes_to_an_answer_of_two_calls_ago_does_so_as_well(bench: Bench) -> None:
    with pytest.raises(Broken, match="writes to what an earlier one has returned"):
        call(candidate(bench, Damaging(2)), times=200)


def test_answers_that_nobody_writes_to_may_be_made_in_inference_mode(bench: Bench) -> None:
    class Inferring(Scale):
        @torch.inference_mode()
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.as_tensor(super().forward(x)) + 0

    judged, right = candidate(bench, Inferring()), bench.fill(0, 4)
    call(judged, times=10)
    with torch.no_grad():
        assert judged.otherwise(manners.INFERRING, [], judged.subject) == ""
    call(judged)
    torch.testing.assert_close(bench.output(0), right)


def test_a_parameter_that_comes_or_goes_with_a_call_breaks_the_contract(bench: Bench) -> None:
    class Growing(Scale):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.more = torch.nn.Parameter(torch.ones(1), requires_grad=False)
            return torch.as_tensor(super().forward(x)) + 0

    with pytest.raises(Broken, match="or adds or drops one"):
        candidate(bench, Growing())
