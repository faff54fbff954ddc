"""Verdicts of a large archive: every status as often as searches meet it, with as many samples as evaluations keep."""

from __future__ import annotations

import json
from random import Random

from benchmarks import large_texts as texts
from treesearch.records import (
    Accuracy,
    Build,
    Conditions,
    Configuration,
    Evaluation,
    Measurement,
    Protocol,
    Ratio,
    Status,
    Timing,
)

SHARES = {
    Status.VERIFIED: 62,
    Status.WRONG: 14,
    Status.BUILD_FAILED: 11,
    Status.CRASHED: 4,
    Status.BROKE_CONTRACT: 3,
    Status.TIMED_OUT: 2,
    Status.NO_CODE: 2,
    Status.SUSPECT: 2,
}
SAMPLES = 40
SCATTER = [[Random(seed).lognormvariate(0, 0.02) for _ in range(SAMPLES)] for seed in range(64)]
"""Drawn once: what samples are relative to their median."""
PROTOCOL = Protocol(1e-2, threads=2)
SOFTWARE = ("torch 2.13.0", "nvcc 13.0.88", "driver 580.95", "Python 3.11.7")
SANDBOX = "namespaces (user, mount, pid, network, ipc, uts), Landlock 7, seccomp, limits"
PROFILE = "registers: 40, no spills; shared memory: 16 KiB\nachieved 1.31 TB/s, 43 % of the DRAM roof\n" + (
    "FFMA 31 %, LDG 12 %, STS 9 %, LDS 18 %, BAR 1 %, IMAD 14 %\n" * 8
)
TOOL_CALL = json.dumps(
    {
        "role": "assistant",
        "content": "Let me see whether it spills.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "build", "arguments": '{"source": "// …"}'}}
        ],
    }
)


def status(random: Random, *, repaired: bool) -> Status:
    """What becomes of a kernel; what was repaired fails less often."""
    drawn = random.choices(list(SHARES), list(SHARES.values()))[0]
    return Status.VERIFIED if repaired and random.random() < 0.3 else drawn


def evaluation(
    random: Random,
    device: str,
    verdict: Status,
    milliseconds: float,
    eager: float,
    parent: float | None = None,
    *,
    final: bool = False,
) -> Evaluation:
    """A verdict on a kernel that takes so long where it works; some are compared with their parent's time."""
    measured = _measurement(random, milliseconds, eager, parent, final) if verdict.timed else None
    ran = verdict not in (Status.NO_CODE, Status.BUILD_FAILED)
    error = texts.error(verdict, random)
    return Evaluation(
        status=verdict,
        device=device,
        protocol=PROTOCOL,
        error=error,
        accuracy=Accuracy(15, 3.1e-7, 4.2e-8, "float64", "float32-like") if verdict.timed else None,
        measurement=measured,
        build=_build(random, error) if verdict is not Status.NO_CODE else None,
        software=SOFTWARE,
        seed=random.getrandbits(60),
        seconds=random.uniform(0.8, 6),
        profile=PROFILE if measured else "",
        sandbox=SANDBOX if ran else "",
    )


def _build(random: Random, error: str) -> Build:
    return Build("nvcc -O3 -arch=sm_90a kernel.cu -o kernel.so", random.uniform(1, 3), False, error)


def _measurement(random: Random, milliseconds: float, eager: float, parent: float | None, final: bool) -> Measurement:
    compiled = eager * 0.7
    return Measurement(
        kernel=_timing(random, milliseconds),
        eager=_timing(random, eager),
        eager_speedup=_ratio(eager / milliseconds),
        compile=_timing(random, compiled),
        compile_speedup=_ratio(compiled / milliseconds),
        conditions=Conditions(1980.0, 2619.0, 512.5, 61.0),
        warm=0.93 * milliseconds,
        parent_speedup=_ratio(parent / milliseconds) if parent and random.random() < 0.2 else None,
        configurations=_configurations(random, milliseconds, compiled) if final else (),
    )


def _configurations(random: Random, milliseconds: float, compiled: float) -> tuple[Configuration, ...]:
    fastest = 0.8 * compiled
    timed = Configuration("max-autotune", _timing(random, fastest), _ratio(fastest / milliseconds))
    return timed, Configuration("TF32", error="it is wrong where kernels are not allowed to be: row 3")


def _timing(random: Random, milliseconds: float) -> Timing:
    return Timing(tuple(round(milliseconds * factor, 6) for factor in random.choice(SCATTER)))


def _ratio(value: float) -> Ratio:
    return Ratio(value, 0.97 * value, 1.03 * value)
