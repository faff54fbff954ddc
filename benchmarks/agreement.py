"""Our time of a kernel beside what Triton's do_bench and Nsight Compute read, on a GPU."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.candidates import Batch
from treesearch import languages
from treesearch.evaluation import target
from treesearch.evaluation.evaluator import Evaluator
from treesearch.languages import Language
from treesearch.problem.reference import Reference, Value, buffers, weights
from treesearch.records import Device, Problem, Role, Status

SCALARS: dict[str, Any] = {"bool": ctypes.c_bool, "int64": ctypes.c_int64, "float64": ctypes.c_double}
NCU_SECONDS = 60.0
KERNELS = 5


@dataclass(frozen=True)
class Agreement:
    """One kernel's times in milliseconds; None where a tool is absent or may not read."""

    problem: str
    ours: float
    do_bench: float | None
    ncu: float | None


def agreements(batches: Sequence[Batch], hardware: Device) -> Iterator[Agreement]:
    """Of the first kernels that are verified, from the batches' ends: what a search wrote last is its fastest."""
    each = -(-KERNELS // len(batches))
    for batch in batches:
        language, problem = languages.named(batch.language), batch.problem
        protocol = target.protocol(problem, 20.0, hardware)
        with Evaluator(problem, language, protocol, hardware, promoted=0) as evaluator:
            for candidate in batch.candidates[-each:]:
                built = evaluator.build(candidate.source)
                judged = evaluator.judge(built)
                if judged.status is Status.VERIFIED and built.library and judged.milliseconds:
                    yield Agreement(problem.name, judged.milliseconds, *_others(built.library, problem, language))


def _others(library: Path, problem: Problem, language: Language) -> tuple[float | None, float | None]:
    return _do_bench(_launcher(library, problem, language)), _ncu(library, problem)


def _do_bench(launch: Callable[[], object]) -> float | None:
    """Its median; it flushes the L2 cache before each launch as well."""
    try:
        testing = importlib.import_module("triton.testing")
    except ImportError:
        return None
    return float(testing.do_bench(launch, warmup=100, rep=500, return_mode="median"))


def _ncu(library: Path, problem: Problem) -> float | None:
    """The sum over the kernel functions of one launch."""
    from treesearch.evaluation.cuda import device, ncu
    from treesearch.evaluation.cuda.contents import Contents

    with Contents() as contents:
        found = ncu.Profiler(device.cudart(), contents, NCU_SECONDS)(library, problem)
    durations = [metric.value for metric in found if metric.name == "duration"]
    return sum(durations) / 1e3 if durations else None


def _launcher(library: Path, problem: Problem, language: Language) -> Callable[[], object]:
    """A launch on torch's stream, with tensors that stay where they are."""
    reference = Reference(problem.name, problem.source, "cuda")
    model, given = reference.model(0), iter(reference.inputs(0))
    held = {**weights(model), **buffers(model)}
    loaded = ctypes.CDLL(str(library), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    kept, arguments = list[torch.Tensor](), list[object]()
    for argument in problem.signature.arguments:
        if argument.role is Role.SCALAR:
            arguments.append(SCALARS[argument.dtype](next(given)))
            continue
        tensor: Value
        if argument.role is Role.OUTPUT:
            tensor = torch.empty(argument.shape, dtype=getattr(torch, argument.dtype), device="cuda")
        else:
            tensor = held[argument.origin] if argument.origin in held else next(given)
        assert isinstance(tensor, torch.Tensor)
        kept.append(tensor)
        arguments.append(ctypes.c_void_p(tensor.data_ptr()))
    scratch = torch.empty(_scratch_bytes(loaded), dtype=torch.uint8, device="cuda")
    kept.append(scratch)

    def launch() -> object:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        return loaded.launch(*arguments, ctypes.c_void_p(scratch.data_ptr()), stream), kept

    return launch


def _scratch_bytes(library: ctypes.CDLL) -> int:
    try:
        ask = library.scratch_bytes
    except AttributeError:
        return 0
    ask.restype = ctypes.c_int64
    return int(ask())


def furthest(found: Sequence[Agreement], which: str) -> float | None:
    """How far from another tool's time ours is at the most, as a share of it."""
    pairs = [(one.ours, getattr(one, which)) for one in found if getattr(one, which)]
    return max((abs(ours / other - 1) for ours, other in pairs), default=None)
