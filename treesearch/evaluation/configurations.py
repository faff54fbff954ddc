"""Torch under other settings than a reference's own: which there are, and which of them can matter for a problem.

A setting of torch holds for a whole process, so that each configuration has one of its own (`configured.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from treesearch.errors import ProblemError
from treesearch.problem.reference import Reference
from treesearch.records import Problem, Role

COMPILED = {"torch.compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}
"""Modes of torch.compile by the names that users know. Calls are captured into a graph anyway where they can be, and
graphs of torch's own would add copies of the inputs."""
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
"""The layout with channels last, by a tensor's number of dimensions."""


@dataclass(frozen=True)
class Settings:
    """One configuration. What is left at its default stays as it is, be it torch's or the problem's own choice."""

    compiler: str = ""
    """One of COMPILED, or nothing for eager."""
    channels_last: bool = False
    """Weights are converted beforehand, inputs on every call, within its time; outputs stay in the layout that they
    come in. All three are what a network in that layout would have, or better."""
    cudnn_benchmark: bool = False
    tf32: bool = False
    """For products and convolutions. Torch's own default is on for cuDNN's convolutions and off for products."""
    matmul_precision: str = ""
    """For `torch.set_float32_matmul_precision`."""

    @property
    def name(self) -> str:
        parts = {
            self.compiler: bool(self.compiler),
            "channels_last": self.channels_last,
            "cudnn.benchmark": self.cudnn_benchmark,
            "TF32": self.tf32,
            f"matmul precision {self.matmul_precision}": bool(self.matmul_precision),
        }
        return " + ".join(part for part, chosen in parts.items() if chosen)

    def apply(self) -> None:
        """Set torch, for the whole process. What concerns a model is up to whoever makes it."""
        if self.matmul_precision:
            torch.set_float32_matmul_precision(self.matmul_precision)
        if self.tf32:
            torch.backends.cuda.matmul.allow_tf32 = True
            torch.backends.cudnn.allow_tf32 = True
        if self.cudnn_benchmark:
            torch.backends.cudnn.benchmark = True


_COMPILE, _AUTOTUNE = Settings("torch.compile"), Settings("max-autotune")
_CHANNELS_LAST = Settings(channels_last=True)
_FAST_CUDNN = Settings(channels_last=True, cudnn_benchmark=True)
ON_GPU = (
    Settings(tf32=True),
    replace(_COMPILE, tf32=True),
    _AUTOTUNE,
    replace(_AUTOTUNE, tf32=True),
    Settings(cudnn_benchmark=True),
    _FAST_CUDNN,
    replace(_FAST_CUDNN, tf32=True),
    replace(_FAST_CUDNN, compiler="max-autotune", tf32=True),
)
ON_CPU = (
    _AUTOTUNE,
    Settings(matmul_precision="medium"),
    replace(_AUTOTUNE, matmul_precision="medium"),
    _CHANNELS_LAST,
    replace(_COMPILE, channels_last=True),
)


@dataclass(frozen=True)
class Work:
    """What a forward does, as far as settings can matter for it."""

    products: bool
    """Of matrices, attention included."""
    convolutions: bool


EVERYTHING = Work(products=True, convolutions=True)


def chosen(problem: Problem, device: str) -> tuple[Settings, ...]:
    """The configurations that may be faster on a device, `cpu` or `cuda`, than the reference as it is."""
    work, everywhere = _work(problem), ON_CPU if device == "cpu" else ON_GPU
    return tuple(settings for settings in everywhere if _matters(settings, problem, work, device))


def _matters(settings: Settings, problem: Problem, work: Work, device: str) -> bool:
    float32 = any(argument.dtype == "float32" for argument in problem.signature.arguments)
    images = any(len(argument.shape) in FORMATS for argument in problem.signature.of(Role.INPUT))
    needs = (
        (settings.channels_last, work.convolutions and images),
        (settings.cudnn_benchmark, work.convolutions),
        (settings.tf32, float32 and (work.products or work.convolutions)),
        (bool(settings.matmul_precision), float32 and work.products),
        # Inductor's templates for a CPU are of products alone.
        (settings.compiler == "max-autotune" and device == "cpu", work.products),
    )
    return all(met for used, met in needs if used)


def _work(problem: Problem) -> Work:
    """From a forward without data; everything, where the reference does not run so."""
    try:
        reference, watch = Reference(problem.name, problem.source, "meta"), _Watch()
        model, inputs = reference.model(0), reference.inputs(1)
        with watch:
            reference.forward(model, inputs)
    except ProblemError:
        return EVERYTHING
    return Work(watch.products, watch.convolutions)


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notices operators that settings can matter for."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.products = False
        self.convolutions = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if "convolution" in str(func):
            self.convolutions = True
        elif func._overloadpacket in flop_registry:
            self.products = True
        return func(*args, **(kwargs or {}))
