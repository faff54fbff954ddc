"""The process that times the reference: eager and torch.compile, on the buffers that candidates see.

`main` runs in a process of its own, which `forkserver.py` forks, because torch keeps its threads, allocator and
compiler caches for the life of a process, and a candidate must not share them.
The controller sets malloc up so that freed memory is reused, never returned: an output of 32 MiB or more
would otherwise pay page faults on every call, which a kernel writing into preallocated buffers does not.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from treesearch.evaluation.buffers import map_tensor
from treesearch.problem.reference import Reference, Value, assign, buffers

WARM_UP_CALLS = 3
SETTLING_ROUNDS = 10
FEW_FAULTS = 16
"""Page faults of a round in which the allocator found room for every output without asking for more."""


class Subject:
    """One set of buffers as tensors, and what is called on them by name."""

    map = staticmethod(map_tensor)

    def __init__(self, call: dict[str, Any], described: list[dict[str, Any]]) -> None:
        self.scalars: list[bool | int | float] = call["scalars"]
        self.inputs: list[Value | None] = []
        self.state: dict[str, torch.Tensor] = {}
        """Parameters and buffers by the reference's dotted names."""
        self.parameters: set[str] = set()
        """Names of the former."""
        self.outputs: list[torch.Tensor] = []
        self.calls: dict[str, Callable[..., object]] = {}
        mapped = iter(described)
        for argument in call["arguments"]:
            if argument["role"] == "scalar":
                self.inputs.append(None)
                continue
            tensor = self.map(next(mapped), tuple(argument["shape"]), getattr(torch, argument["dtype"]))
            if argument["role"] == "input":
                self.inputs.append(tensor)
            elif argument["role"] == "output":
                self.outputs.append(tensor)
            else:
                self.state[argument["origin"]] = tensor
                self.parameters |= {argument["origin"]} if argument["role"] == "parameter" else set()

    def adopt(self, model: nn.Module) -> None:
        """Time the reference: its model, with its weights behind the shared pointers."""
        # A forward may change buffers, which are read-only here: it gets its own.
        own = {name: self.state[name].clone() for name in buffers(model)}
        assign(model, {**self.state, **own})
        self.calls["eager"] = model

    def time(self, which: str, scalars: list[bool | int | float]) -> int:
        """Nanoseconds of one call."""
        return self.call(which, scalars)[0]

    def call(self, which: str, scalars: list[bool | int | float]) -> tuple[int, object]:
        """Nanoseconds of one call, and what it returned."""
        inputs = self.arguments(scalars)
        call = self.calls[which]
        started = time.perf_counter_ns()
        returned = call(*inputs)
        return time.perf_counter_ns() - started, returned

    def replays(self, which: str) -> bool:
        """Whether calls write to what the first of them returned, since they are that one over again."""
        return False

    def arguments(self, scalars: list[bool | int | float]) -> list[Value]:
        drawn = iter(scalars)
        return [next(drawn) if value is None else value for value in self.inputs]

    def warm_up(self, which: str) -> None:
        for _ in range(WARM_UP_CALLS):
            self.time(which, self.scalars)


def compile_all(subjects: list[Subject]) -> str:
    """Compile every subject's model; the error's text where torch cannot."""
    try:
        for subject in subjects:
            subject.calls["compile"] = torch.compile(subject.calls["eager"])
            subject.warm_up("compile")
    except Exception as error:  # whatever the compiler stack raises, the eager baseline stands
        for subject in subjects:
            subject.calls.pop("compile", None)
        return told(error)
    return ""


def settle(subjects: list[Subject]) -> None:
    """Make every call in turn until two rounds in a row reuse the memory that earlier ones freed."""
    clean = 0
    for _ in range(SETTLING_ROUNDS):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for subject in subjects:
            for which in subject.calls:
                subject.time(which, subject.scalars)
        few = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before <= FEW_FAULTS
        clean = clean + 1 if few else 0
        if clean == 2:
            return


def timed(subject: Subject, command: dict[str, Any]) -> dict[str, Any]:
    """The reading, or what the reference raised: it is the user's code, and may raise anything."""
    try:
        return {"nanoseconds": subject.time(command["which"], command["scalars"])}
    except Exception as error:  # see above
        return {"error": told(error)}


def told(error: Exception) -> str:
    """An exception on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"


def kind(device: str) -> type[Subject]:
    """What times calls on a device, `cpu` or `cuda`."""
    if device == "cpu":
        return Subject
    from treesearch.evaluation.cuda.baseline import DeviceSubject

    return DeviceSubject


def main() -> None:
    warnings.simplefilter("ignore")
    replies = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    call = json.loads(sys.stdin.readline())
    torch.set_num_threads(call["threads"])
    reference = Reference(call["name"], call["source"], call["device"])
    with torch.no_grad():
        subjects = [kind(call["device"])(call, described) for described in call["sets"]]
        for subject in subjects:
            subject.adopt(reference.model(0))
            subject.warm_up("eager")
        replies.write("{}\n")
        for line in sys.stdin:
            command = json.loads(line)
            if command["which"] == "prepare compile":
                reply: dict[str, Any] = {"error": compile_all(subjects)}
                settle(subjects)
            else:
                reply = timed(subjects[command["set"]], command)
            replies.write(json.dumps(reply) + "\n")
