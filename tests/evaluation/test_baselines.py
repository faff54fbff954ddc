"""The process that times the reference: the same threads, memory and secrecy as a candidate's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from treesearch import languages, problem
from treesearch.errors import MachineError
from treesearch.evaluation import device, lanes
from treesearch.evaluation.baselines import Baselines
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Problem, Protocol, Role, Status

OBSERVED = """
import json, os, resource, sys
import torch
from torch import nn


BASELINE = sys.argv[0] == "treesearch.evaluation.baseline"

PATCH

class Model(nn.Module):
    @torch.compiler.disable
    def forward(self, x, y):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        out = x + y
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        seen = {"faults": faults, "threads": torch.get_num_threads(), "keys": sorted(os.environ)}
        with open("LOG", "a") as log:
            log.write(json.dumps(seen) + "\\n")
        EFFECT
        return out

def get_inputs():
    return [torch.randn(1, COLUMNS), torch.randn(ROWS, 1)]

def get_init_inputs():
    return []
"""
"""A reference that reports on the process it runs in."""


def observed(log: Path, rows: int = 32, columns: int = 64, patch: str = "", effect: str = "pass") -> str:
    source = OBSERVED.replace("LOG", str(log)).replace("ROWS", str(rows)).replace("COLUMNS", str(columns))
    return source.replace("PATCH", patch).replace("EFFECT", effect)


@contextmanager
def baselines_of(subject: Problem, threads: int = 1) -> Iterator[Baselines]:
    drawn = {a.name: torch.randn(a.shape) for a in subject.signature.of(Role.INPUT)}
    buffers = BufferSet(subject.signature)
    buffers.fill(drawn)
    baselines = Baselines(subject, Protocol(1e-2, threads=threads), lanes.of(device.cpu()), [buffers], ())
    try:
        baselines.wait()
        yield baselines
    finally:
        baselines.close()
        buffers.close()


def test_an_output_of_64_mib_costs_no_page_faults_per_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    source = observed(log, rows=4096, columns=4096)
    subject = problem.from_source("observed", source)
    log.unlink()
    with baselines_of(subject) as baselines:
        for which in ("eager", "compile") * 3:
            assert baselines.time(which, 0, ()) > 0
    faults = [json.loads(line)["faults"] for line in log.read_text().splitlines()][-6:]
    assert max(faults) < 16, faults

    log.unlink()
    plain = f"{source}\nfor _ in range(5):\n    Model()(*get_inputs())\n"
    subprocess.run([sys.executable, "-c", plain], check=True, env={"PATH": os.environ["PATH"]})
    usual = [json.loads(line)["faults"] for line in log.read_text().splitlines()]
    assert min(usual) >= 16, "this machine's allocator keeps large blocks by itself, so the test shows nothing"


def test_the_reference_runs_with_the_protocols_threads_and_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    log = tmp_path / "log"
    subject = problem.from_source("observed", observed(log))
    for threads in (1, 2):
        log.unlink()
        with baselines_of(subject, threads) as baselines:
            baselines.time("compile", 0, ())
            assert baselines.kinds == ("eager", "compile"), "only thorough ones try other settings of torch"
        seen = [json.loads(line) for line in log.read_text().splitlines()]
        assert {each["threads"] for each in seen} == {threads}
        assert all("ANTHROPIC_API_KEY" not in each["keys"] for each in seen)


def test_a_reference_that_kills_its_process_is_the_machines_fault(tmp_path: Path) -> None:
    trigger = tmp_path / "now"
    effect = f"if os.path.exists({str(trigger)!r}): os._exit(3)"
    subject = problem.from_source("observed", observed(tmp_path / "log", effect=effect))
    with baselines_of(subject) as baselines:
        trigger.touch()
        for _ in range(2):
            with pytest.raises(MachineError, match=r"times the reference failed \(eager\)"):
                baselines.time("eager", 0, ())
    with pytest.raises(MachineError, match=r"did not start: it exited with code 3"), baselines_of(subject):
        pass


def test_without_torch_compile_the_eager_baseline_stands(tmp_path: Path, compiler: str) -> None:
    patch = """def refuse(*args, **kwargs):
    raise RuntimeError("no compiler today")

if BASELINE:
    torch.compile = lambda model: refuse"""
    subject = problem.from_source("observed", observed(tmp_path / "log", patch=patch))
    kernel = """
    #include "problem.h"
    extern "C" int launch(const float* x, const float* y, float* out, void*) {
        for (int64_t i = 0; i < out_numel; ++i) out[i] = x[i % out_dim1] + y[i / out_dim1];
        return 0;
    }
    """
    protocol = Protocol(1e-2, nominal_calls=2, repeats=1)
    with Evaluator(subject, languages.CPP, protocol, seed=1) as evaluator:
        judged = evaluator.evaluate(kernel)
    assert judged.status is Status.VERIFIED, judged.error
    assert judged.measurement is not None
    assert judged.measurement.compile is None
    assert judged.measurement.compile_error == "RuntimeError: no compiler today"
    assert judged.measurement.speedup == judged.measurement.eager_speedup
