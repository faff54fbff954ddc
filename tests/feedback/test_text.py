"""What is told of a kernel, compared with tests/golden/feedback_*.md; tests/test_prompts.py says how to renew those."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.test_prompts import BROKEN, STEP, check_golden
from tests.test_prompts import DEVICE as CPU
from tests.test_prompts import PROBLEM as BIAS_RELU
from tests.test_prompts_cuda import DEVICE as GPU
from tests.test_prompts_cuda import LOG
from tests.test_prompts_cuda import PROBLEM as LAYERNORM
from tests.test_prompts_cuda import STEP as CUDA_STEP
from treesearch import feedback
from treesearch.feedback import LIMIT, Launch, Metric, Seen, figures
from treesearch.languages import CPP, CUDA
from treesearch.languages.mix import Count, Mix
from treesearch.records import Conditions, Evaluation, Label, Problem, Ratio, Status

NORMALIZE = Mix(
    "normalize",
    (Count("integer or address", 61), Count("FP32 FMA", 24), Count("global load 32-bit", 12), Count("branch", 4)),
)
SEEN = Seen(
    mixes=(Mix("statistics", (Count("FP64", 40), Count("integer or address", 33), Count("atomic", 2))), NORMALIZE),
    launches=(
        Launch("statistics", (64, 16, 1), (256, 1, 1), 0),
        Launch("normalize", (64, 16, 1), (256, 1, 1), 16 << 10, 2),
    ),
    metrics=(Metric("normalize", "DRAM throughput", 61.25, "%"), Metric("normalize", "duration", 251.2, "µs")),
)
CONDITIONS = Conditions(1755, 2619, 541.2, 61, 3, ("power cap",), 0.04)


def judged(evaluation: Evaluation | None) -> Evaluation:
    assert evaluation is not None
    return evaluation


CUDA_VERIFIED, CPP_VERIFIED, UNBUILT = (judged(entry.evaluation) for entry in (CUDA_STEP, STEP, BROKEN))


def everything() -> Evaluation:
    """A verdict that has all that a verdict can have."""
    assert CUDA_VERIFIED.measurement is not None
    found = replace(CUDA_VERIFIED.measurement, conditions=CONDITIONS, warm=0.31, parent_speedup=Ratio(1.42, 1.40, 1.44))
    return replace(CUDA_VERIFIED, measurement=found, labels=(Label.SANITIZED, Label.VARYING))


def failed(status: Status, error: str, log: str = "") -> Evaluation:
    assert UNBUILT.build is not None
    return replace(UNBUILT, status=status, error=error, build=replace(UNBUILT.build, log=log))


# ── golden texts ────────────────────────────────────────────────────────────────────────────────


def test_a_cuda_kernel_of_which_everything_is_known() -> None:
    heavy = replace(LAYERNORM, flops=537_000_000)
    check_golden("feedback_cuda", feedback.text(heavy, CUDA, GPU, everything(), SEEN) + "\n")


def test_a_cpp_kernel() -> None:
    mixes = (
        Mix("launch", (Count("scalar integer or move", 13),)),
        Mix("launch._omp_fn.0", (Count("FMA 512-bit", 8), Count("vector load 512-bit", 8), Count("call of expf", 1))),
    )
    check_golden("feedback_cpp", feedback.text(BIAS_RELU, CPP, CPU, CPP_VERIFIED, Seen(mixes)) + "\n")


def test_a_wrong_kernel() -> None:
    error = (
        "output out of a wide call: 1 of 1024 rows beyond the tolerance of 0.01; in the worst, ‖error‖ ÷ ‖reference‖ "
        "is 0.031 (eager's own: 2e-07), its largest error at (17, 96): got 3, expected 2\n"
        "shape (1024, 4096): 2 elements are wrong, the last at (17, 97); the first: (17, 96) got 3, expected 2; "
        "(17, 97) got nan, expected 1.5"
    )
    seen = Seen((Mix("launch", (Count("FP arithmetic scalar", 4),)),))
    check_golden("feedback_wrong", feedback.text(BIAS_RELU, CPP, CPU, failed(Status.WRONG, error), seen) + "\n")


# ── properties ──────────────────────────────────────────────────────────────────────────────────


def overfull() -> list[tuple[Problem, Evaluation, Seen]]:
    """Verdicts with far too much of everything."""
    functions = [f"kernel_{'of_a_long_name_' * 20}{number}" for number in range(200)]
    log = "".join(LOG.replace("normalize", name).replace("statistics", f"{name}s") for name in functions)
    log += "".join(f"kernel.cu({line}): warning: something odd\n" for line in range(5000))
    mixes = tuple(Mix(name, tuple(Count(f"class {kind}", 7) for kind in range(60))) for name in functions)
    launches = tuple(Launch(name, (1 << 20, 7, 7), (64, 2, 2), 1000) for name in functions)
    assert CUDA_VERIFIED.build is not None
    timed = replace(everything(), build=replace(CUDA_VERIFIED.build, log=log))
    suspect = replace(timed, status=Status.SUSPECT, error="the clocks disagree " * 1000)
    broken = failed(Status.CRASHED, "line\n" * 20_000, log)
    seen = Seen(mixes, launches, tuple(Metric(name, "throughput", 1, "%") for name in functions))
    return [(LAYERNORM, one, seen) for one in (timed, suspect, broken, replace(broken, status=Status.BUILD_FAILED))]


@pytest.mark.parametrize("case", range(4), ids=["timed", "suspect", "crashed", "not built"])
def test_nothing_makes_it_longer_than_its_limit(case: int) -> None:
    text = feedback.text(overfull()[case][0], CUDA, GPU, *overfull()[case][1:])
    assert 0.4 * LIMIT < len(text) <= LIMIT


def test_no_name_of_a_function_is_shortened() -> None:
    problem, evaluation, seen = overfull()[0]
    names = {launch.function for launch in seen.launches} | {f"{launch.function}s" for launch in seen.launches}
    told = re.findall(r"kernel_\w+", feedback.text(problem, CUDA, GPU, evaluation, seen))
    assert told
    assert set(told) <= names


def test_a_name_that_is_too_long_is_left_out_and_its_figures_are_not() -> None:
    seen = Seen((Mix("x" * 5000, (Count("FP32 FMA", 3),)),))
    text = feedback.text(BIAS_RELU, CPP, CPU, CPP_VERIFIED, seen)
    assert "a function whose name has 5000 characters:\n  3 instructions: 3 FP32 FMA" in text
    assert "xxx" not in text


def test_occupancy_counts_static_and_dynamic_shared_memory() -> None:
    assert CUDA_VERIFIED.build is not None
    log = LOG.replace("Used 32 registers, used 0 barriers", "Used 32 registers, used 0 barriers, 40960 bytes smem")
    evaluation = replace(CUDA_VERIFIED, build=replace(CUDA_VERIFIED.build, log=log))
    seen = Seen(launches=(Launch("normalize", (1320, 1, 1), (256, 1, 1), 20 << 10),))
    text = feedback.text(LAYERNORM, CUDA, GPU, evaluation, seen)
    assert "static shared memory 40.0 KiB\n  launched: grid 1320, block 256, dynamic shared memory 20.0 KiB\n" in text
    assert "an SM holds 3 blocks of it, 24 of 64 warps, limited by shared memory; the grid is 3.33 waves" in text


def test_what_is_not_known_is_left_out() -> None:
    text = feedback.text(BIAS_RELU, CPP, replace(CPU, bandwidth=None), CPP_VERIFIED)
    assert not re.search(r"bandwidth|floor|roof|Meanwhile|parent|instructions|ncu|made from|in the caches", text)
    assert "GB/s of compulsory traffic." in text


def test_a_build_that_failed_tells_nothing_but_what_the_compiler_said() -> None:
    text = feedback.text(BIAS_RELU, CPP, CPU, failed(Status.BUILD_FAILED, "error: no\n", "error: no\n"), SEEN)
    assert text == "Status: build failed\n\nerror: no"


def test_escapes_that_steer_a_terminal_are_removed() -> None:
    assert "\x1b" not in feedback.text(BIAS_RELU, CPP, CPU, failed(Status.CRASHED, "\x1b[2Jgone", "\x1b[31mred"))


# ── excerpts ────────────────────────────────────────────────────────────────────────────────────


def test_a_long_log_keeps_its_head_and_tail_in_whole_lines() -> None:
    log = "".join(f"kernel.cpp:{line}: error: no such thing\n" for line in range(5000)).strip()
    quoted = figures.excerpt(log, 4000)
    assert 0.9 * 4000 < len(quoted) <= 4000
    assert quoted.startswith("kernel.cpp:0: error")
    assert quoted.endswith("kernel.cpp:4999: error: no such thing")
    lines = [line for line in quoted.splitlines() if "left out" not in line]
    assert all(re.fullmatch(r"kernel\.cpp:\d+: error: no such thing", line) for line in lines)


def test_a_line_that_is_most_of_a_log_is_cut_between_words() -> None:
    quoted = figures.excerpt("error: " + " ".join(f"candidate{number:05}" for number in range(5000)), 1000)
    assert len(quoted) <= 1000
    assert all(len(name) == 14 for name in re.findall(r"candidate\d*", quoted))


def test_a_log_that_is_one_long_word_is_left_out() -> None:
    assert re.fullmatch(r"\n\[… \d+ or more characters left out …\]\n", figures.excerpt("x" * 100_000, 1000))


def test_a_short_log_is_quoted_whole() -> None:
    assert figures.excerpt("one\ntwo\n", 100) == "one\ntwo\n"
