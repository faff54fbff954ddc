"""The process that runs the reference under one configuration of torch, on the buffers that candidates see.

Its `main` runs as that of `baseline.py` does, and differs from it in this: torch is set before a
model is made, answers are written into the shared outputs for the controller to check, and whatever goes wrong, from
importing the problem to compiling it, is a reply with an `error`. Every line read is answered by one line; the first
says how torch is to be set, and each further one names a set of buffers and whether its outputs are to be written.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

import torch
from torch import nn

from treesearch.evaluation import baseline
from treesearch.evaluation.baseline import Subject
from treesearch.evaluation.configurations import COMPILED, FORMATS, Settings
from treesearch.evaluation.open.bare import HostSubject
from treesearch.problem.reference import Reference, as_list, assign, buffers

CALL = "configured"


class ChannelsLast(nn.Module):
    """A model whose inputs are converted first, as a part of every call."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: object) -> object:
        return self.model(*map(channels_last, inputs))


def channels_last(value: object) -> object:
    """A tensor of images or volumes in that layout; anything else as it is."""
    if not isinstance(value, torch.Tensor) or value.dim() not in FORMATS:
        return value
    return value.contiguous(memory_format=FORMATS[value.dim()])


class Configured:
    """The reference under settings that are applied, over one set of buffers."""

    def __init__(self, name: str, model: nn.Module, settings: Settings, subject: Subject) -> None:
        self.name = name
        self.subject = subject
        self.own = self._copies(model, settings)
        """Buffers, which a forward may change, and converted weights, by dotted name."""
        assign(model, {**subject.state, **self.own})
        called = ChannelsLast(model) if settings.channels_last else model
        subject.calls[CALL] = torch.compile(called, mode=COMPILED[settings.compiler]) if settings.compiler else called
        subject.warm_up(CALL)

    def time(self, scalars: list[bool | int | float]) -> int:
        """Nanoseconds of one call."""
        self._renew()
        return self.subject.time(CALL, scalars)

    def answer(self, scalars: list[bool | int | float]) -> None:
        """Make one call and write what it returns into the shared outputs, in their layout."""
        self._renew()
        returned = as_list(self.name, self.subject.call(CALL, scalars)[1])
        for shared, output in zip(self.subject.outputs, returned, strict=True):
            shared.copy_(output)
        if returned[0].is_cuda:
            torch.cuda.synchronize()

    def _copies(self, model: nn.Module, settings: Settings) -> dict[str, torch.Tensor]:
        state = self.subject.state
        own = {name: state[name].clone() for name in buffers(model)}
        if settings.channels_last:
            images = {name: state[name] for name in self.subject.parameters if state[name].dim() in FORMATS}
            own |= {name: tensor.clone(memory_format=FORMATS[tensor.dim()]) for name, tensor in images.items()}
        return own

    def _renew(self) -> None:
        """The contents that the controller has written since."""
        for name, copy in self.own.items():
            copy.copy_(self.subject.state[name])


def prepare(start: dict[str, Any]) -> list[Configured]:
    """One for each set of buffers, compiled and ready to be timed."""
    torch.set_num_threads(start["threads"])
    reference = Reference(start["name"], start["source"], start["device"])
    settings = Settings(**start["settings"])
    settings.apply()  # after the problem's own code, which may set torch as well
    kind = HostSubject if start["device"] == "cpu" else baseline.kind(start["device"])
    subjects = [kind(start, described) for described in start["sets"]]
    made = [Configured(reference.name, reference.model(0), settings, subject) for subject in subjects]
    baseline.settle(subjects)
    return made


def answered(ready: list[Configured], command: dict[str, Any]) -> dict[str, Any]:
    configured, scalars = ready[command["set"]], command["scalars"]
    if command["write"]:
        configured.answer(scalars)
        return {}
    return {"nanoseconds": configured.time(scalars)}


def main() -> None:
    warnings.simplefilter("ignore")
    replies = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    ready: list[Configured] = []
    with torch.no_grad():
        for line in sys.stdin:
            command, reply = json.loads(line), dict[str, Any]()
            try:
                if ready:
                    reply = answered(ready, command)
                else:
                    ready = prepare(command)
            except Exception as error:  # the reference is the user's code, and compilers raise what they like
                reply = {"error": baseline.told(error)}
            replies.write(json.dumps(reply) + "\n")
