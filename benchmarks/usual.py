"""The usual way to judge a kernel: a `load_inline` module with torch's headers, built and run in a process of its own.

What is measured is KernelBench's protocol: five draws that have to be close to the reference's answers, then a hundred
timed runs. Processes run side by side, one a core; only one at a time checks and times, since more would disturb it.
`python -m benchmarks.usual FILE.json` is such a process.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.candidates import Batch
from treesearch import languages
from treesearch.evaluation import device
from treesearch.languages import Language
from treesearch.problem.reference import Reference, Value, buffers, weights
from treesearch.records import Problem, Role, codec

CORRECTNESS_RUNS, WARM_UP_RUNS, TIMED_RUNS = 5, 3, 100
FLAGS = ["-O3", "-std=c++17"]
HOST_FLAGS = [*FLAGS, "-march=native", "-fopenmp"]
HALF = [f"-U__CUDA_NO_{what}__" for what in ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS")]
"""torch forbids what kernels with the usual flags may use."""
SECONDS = 900.0


@dataclass(frozen=True)
class Judged:
    """What became of some candidates, the usual way."""

    candidates: int
    seconds: float
    """Wall time of all of them."""
    right: int
    builds: tuple[float, ...]
    """Seconds of each build that went well."""
    failures: tuple[str, ...]


def judge(batches: Sequence[Batch], architecture: str) -> Judged:
    """Judge all candidates of the batches."""
    with tempfile.TemporaryDirectory(prefix="usual-") as name, ThreadPoolExecutor(device.cores()) as pool:
        folder = Path(name)
        jobs = [_job(folder, batch, source.source, architecture) for batch in batches for source in batch.candidates]
        started = time.monotonic()
        replies = list(pool.map(_run, jobs))
        seconds = time.monotonic() - started
    builds = tuple(reply["build"] for reply in replies if "build" in reply)
    failures = tuple(reply["error"] for reply in replies if "error" in reply)
    return Judged(len(jobs), seconds, sum(reply.get("right", False) for reply in replies), builds, failures)


def _job(folder: Path, batch: Batch, source: str, architecture: str) -> Path:
    home = Path(tempfile.mkdtemp(dir=folder))
    told = {"problem": codec.encode(batch.problem), "language": batch.language, "source": source}
    (home / "job.json").write_text(json.dumps({**told, "architecture": architecture, "lock": str(folder / "lock")}))
    return home / "job.json"


def _run(job: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.usual", str(job)]
    variables = {**os.environ, "MAX_JOBS": "1", "TORCH_EXTENSIONS_DIR": str(job.parent)}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
            env=variables,
            cwd=Path(__file__).parents[1],
        )
    except subprocess.TimeoutExpired:
        return {"error": f"it took longer than {SECONDS:.0f} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["it failed without a word"])[-1]}
    reply: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return reply


# ── in the process of one candidate ─────────────────────────────────────────────────────────────


def wrapper(problem: Problem, language: Language, source: str) -> str:
    """C++ of a function `run(tensors, scalars)` around a kernel's `launch`."""
    tensors = scalars = 0
    arguments, outputs = list[str](), list[str]()
    for argument in problem.signature.arguments:
        if argument.role is Role.SCALAR:
            arguments.append(f"static_cast<{language.scalar_types[argument.dtype]}>(s[{scalars}])")
            scalars += 1
            continue
        place = argument.name if argument.role is Role.OUTPUT else f"t[{tensors}]"
        arguments.append(f"static_cast<{language.tensor_types[argument.dtype]}*>({place}.data_ptr())")
        if argument.role is Role.OUTPUT:
            sizes = ", ".join(map(str, argument.shape))
            kind = {"uint8": "Byte", "bfloat16": "BFloat16", "bool": "Bool"}.get(argument.dtype, "")
            dtype = f"k{kind or argument.dtype.capitalize()}"
            outputs.append(f"    auto {place} = torch::empty({{{sizes}}}, t[0].options().dtype(torch::{dtype}));")
        else:
            tensors += 1
    scratch = "torch::empty({scratch_bytes()}, t[0].options().dtype(torch::kByte))"
    if "scratch_bytes" in source:
        outputs.append(f"    auto scratch = {scratch};")
    arguments.append("scratch.data_ptr()" if "scratch_bytes" in source else "nullptr")
    arguments += ["c10::cuda::getCurrentCUDAStream()"] if language.trailing_parameters else []
    results = ", ".join(argument.name for argument in problem.signature.of(Role.OUTPUT))
    return "\n".join(
        [
            "#include <c10/cuda/CUDAStream.h>" if language.trailing_parameters else "",
            '#include "problem.h"',
            source,
            "std::vector<torch::Tensor> run(std::vector<torch::Tensor> t, std::vector<double> s) {",
            *outputs,
            f"    TORCH_CHECK(launch({', '.join(arguments)}) == 0);",
            f"    return {{{results}}};",
            "}",
        ]
    )


def _load(problem: Problem, language: Language, source: str, architecture: str, folder: Path) -> Any:
    load_inline: Callable[..., Any] = importlib.import_module("torch.utils.cpp_extension").load_inline
    (folder / "problem.h").write_text(language.header(problem))
    code = wrapper(problem, language, source)
    settings: dict[str, Any] = {"functions": ["run"], "extra_include_paths": [str(folder)]}
    if not language.trailing_parameters:
        return load_inline("usual", code, extra_cflags=HOST_FLAGS, extra_ldflags=["-fopenmp"], **settings)
    declared = "std::vector<torch::Tensor> run(std::vector<torch::Tensor> t, std::vector<double> s);"
    target = f"-gencode=arch={architecture.replace('sm_', 'compute_')},code={architecture}"
    return load_inline(
        "usual", declared, code, extra_cflags=FLAGS, extra_cuda_cflags=[*FLAGS, target, *HALF], **settings
    )


def _arguments(
    problem: Problem, reference: Reference, seed: int
) -> tuple[list[Value], list[torch.Tensor], list[float]]:
    """Inputs of the reference, and what `run` gets: tensors in the kernel's order, then scalars."""
    model, drawn = reference.model(seed), reference.inputs(seed)
    held, given = {**weights(model), **buffers(model)}, iter(drawn)
    tensors, scalars = list[torch.Tensor](), list[float]()
    for argument in problem.signature.arguments:
        if argument.role in (Role.PARAMETER, Role.BUFFER):
            tensors.append(held[argument.origin])
        elif argument.role is not Role.OUTPUT:
            value = next(given)
            if isinstance(value, torch.Tensor):
                tensors.append(value)
            else:
                scalars.append(float(value))
    return drawn, tensors, scalars


def _right(problem: Problem, reference: Reference, run: Any) -> bool:
    for seed in range(CORRECTNESS_RUNS):
        drawn, tensors, scalars = _arguments(problem, reference, seed)
        wanted = reference.forward(reference.model(seed), drawn)
        got = run(tensors, scalars)
        tolerance = problem.tolerance
        if not all(torch.allclose(a, b, tolerance, tolerance) for a, b in zip(got, wanted, strict=True)):
            return False
    return True


def _milliseconds(problem: Problem, reference: Reference, run: Any) -> float:
    _, tensors, scalars = _arguments(problem, reference, 0)
    times = []
    for _ in range(WARM_UP_RUNS + TIMED_RUNS):
        _join(reference.device)
        started = time.perf_counter()
        run(tensors, scalars)
        _join(reference.device)
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times[WARM_UP_RUNS:])


def _join(where: str) -> None:
    if where != "cpu":
        torch.cuda.synchronize()


@contextmanager
def _alone(path: str) -> Iterator[None]:
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    job = Path(sys.argv[1])
    told = json.loads(job.read_text())
    problem, language = codec.decode(Problem, told["problem"]), languages.named(told["language"])
    started = time.monotonic()
    module = _load(problem, language, told["source"], told["architecture"], job.parent)
    built = time.monotonic() - started
    where = "cuda" if language.trailing_parameters else "cpu"
    with _alone(told["lock"]), torch.no_grad():
        reference = Reference(problem.name, problem.source, where)
        right = _right(problem, reference, module.run)
        milliseconds = _milliseconds(problem, reference, module.run)
    print(json.dumps({"build": built, "right": right, "milliseconds": milliseconds}))


if __name__ == "__main__":
    main()
