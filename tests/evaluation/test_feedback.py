"""What verdicts on real kernels tell of them."""

from __future__ import annotations

import pytest

from treesearch import feedback
from treesearch.evaluation.evaluator import Evaluator
from treesearch.languages import CPP
from treesearch.records import Status


def test_a_timed_kernel_tells_its_time_its_error_and_its_instructions(tiny: Evaluator, honest: str) -> None:
    judged = tiny.evaluate(honest)
    assert judged.measurement is not None, judged.error
    assert judged.profile.startswith(f"Status: {judged.status}")
    assert f"It takes {judged.measurement.kernel.median:.4g} ms" in judged.profile
    assert "B/s of compulsory traffic" in judged.profile
    assert "Its worst row error over" in judged.profile
    if CPP.disassembler is not None and CPP.disassembler.tool() is not None:
        assert "\nlaunch:\n  " in judged.profile


def test_a_wrong_kernel_tells_its_first_wrong_elements(tiny: Evaluator, honest: str) -> None:
    judged = tiny.evaluate(honest.replace("return 0;", "out[130] = 7; return 0;"))
    assert judged.status is Status.WRONG, judged.error
    assert (
        "shape (64, 128): 1 element is wrong, the last at (1, 2); the first: (1, 2) got 7, expected " in judged.profile
    )
    assert "It takes" not in judged.profile


def test_a_kernel_that_does_not_build_tells_what_the_compiler_said(tiny: Evaluator, honest: str) -> None:
    judged = tiny.evaluate(honest.replace("return 0;", "return undeclared_name;"))
    assert judged.status is Status.BUILD_FAILED
    assert judged.profile.startswith("Status: build failed\n\n")
    assert "‘undeclared_name’ was not declared" in judged.profile


def test_an_answer_without_code_tells_that(tiny: Evaluator) -> None:
    assert tiny.evaluate(None).profile == "Status: no code\n\nthe answer holds no code block with a launch function"


@pytest.mark.parametrize("name", ["x" * 5000, "y " * 5000])
def test_no_error_is_too_long(tiny: Evaluator, honest: str, name: str) -> None:
    judged = tiny.evaluate(honest.replace("return 0;", f'\n#error "{name}"\n'))
    assert judged.status is Status.BUILD_FAILED
    assert len(judged.profile) <= feedback.LIMIT


@pytest.mark.gpu
def test_a_cuda_kernel_tells_its_launches_and_their_occupancy() -> None:
    from tests.evaluation.test_nodes import kernel
    from tests.problem.conftest import source_of
    from treesearch import languages, problem
    from treesearch.records import Protocol

    subject = problem.from_source("square", source_of("x: return x * x + 1", "torch.randn(4096, 1024)"))
    protocol = Protocol(subject.tolerance, deadline_seconds=6, threads=1, nominal_calls=4, repeats=3)
    with Evaluator(subject, languages.CUDA, protocol, seed=7) as evaluator:
        judged = evaluator.evaluate(kernel(""))
    assert judged.status is Status.VERIFIED, judged.error
    assert "\nsquare:\n" in judged.profile
    assert "launched: grid 16384, block 256, dynamic shared memory 0 bytes" in judged.profile
    assert "of 64 warps, limited by" in judged.profile
