"""A live reference: the problem's Python code, executed, with its random draws under control."""

from __future__ import annotations

import inspect
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from types import ModuleType
from typing import Any

import torch
from torch import nn

from treesearch.errors import ProblemError
from treesearch.records import digest

Value = torch.Tensor | bool | int | float
"""What a reference may take as an input."""


class Reference:
    """`Model`, `get_inputs` and `get_init_inputs` of one problem.

    Everything random in it is a function of the seeds given here. Whatever the problem's code raises becomes
    a ProblemError that names the line.
    """

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.module = self._execute(source)
        for required in ("Model", "get_inputs", "get_init_inputs"):
            if not callable(getattr(self.module, required, None)):
                raise ProblemError(f"{name} defines no {required}; a problem has Model, get_inputs, get_init_inputs.")

    @property
    def tolerance(self) -> float:
        """The problem's own TOLERANCE, or 1e-2."""
        tolerance = getattr(self.module, "TOLERANCE", 1e-2)
        if not isinstance(tolerance, int | float) or not 0 < tolerance < 1:
            raise ProblemError(f"TOLERANCE of {self.name} is {tolerance!r}; it must be a number between 0 and 1.")
        return float(tolerance)

    def model(self, seed: int) -> nn.Module:
        """A new model whose initial weights are a function of `seed`; in train mode, as KernelBench runs it."""
        with self._guarded("Model(*get_init_inputs())"), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            arguments = self.module.get_init_inputs()
            torch.manual_seed(seed)
            model = self.module.Model(*arguments)
        if not isinstance(model, nn.Module):
            raise ProblemError(f"Model of {self.name} is not a torch.nn.Module.")
        return model.requires_grad_(False)

    def inputs(self, seed: int) -> list[Value]:
        """One draw of `get_inputs()`, tensors detached and contiguous."""
        with self._guarded("get_inputs()"), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            drawn = self.module.get_inputs()
        if not isinstance(drawn, list | tuple):
            raise ProblemError(f"get_inputs() of {self.name} returns a {type(drawn).__name__}, not a list.")
        return [_contiguous(value.detach()) if isinstance(value, torch.Tensor) else value for value in drawn]

    def forward(self, model: nn.Module, inputs: list[Value], seed: int = 0) -> list[torch.Tensor]:
        """The model's outputs as a list. Neither the inputs nor the global random state are changed by us."""
        with self._guarded("forward"), torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            outputs = model(*inputs)
        return as_list(self.name, outputs)

    def input_names(self, model: nn.Module, count: int) -> list[str]:
        """Names of forward's positional arguments; `*args` are numbered."""
        names: list[str] = []
        for parameter in inspect.signature(model.forward).parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                names += [f"{parameter.name}{index}" for index in range(count - len(names))]
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
        if len(names) < count:
            raise ProblemError(f"get_inputs() of {self.name} gives {count} values; forward takes {len(names)}.")
        return names[:count]

    def _execute(self, source: str) -> ModuleType:
        name = f"treesearch_problem_{digest(source)[:12]}"
        filename = f"<problem {self.name}>"
        module = ModuleType(name)
        module.__file__ = filename
        # torch.compile and inspect look sources up by file name, and classes by their module's name.
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        sys.modules[name] = module
        with self._guarded("importing it"):
            exec(compile(source, filename, "exec"), module.__dict__)
        return module

    @contextmanager
    def _guarded(self, doing: str) -> Iterator[None]:
        try:
            with redirect_stdout(sys.stderr):  # standard output is for our data
                yield
        except ProblemError:
            raise
        except (Exception, SystemExit) as error:  # a user's code may raise anything
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if self.name in frame.filename]
            lineno = getattr(error, "lineno", None) or (lines[-1] if lines else None)
            where = f" at line {lineno}" if lineno else ""
            what = " ".join(str(error).split())[:300]
            raise ProblemError(f"{self.name}: {doing} raised {type(error).__name__}{where}: {what}") from error


def _contiguous(tensor: torch.Tensor) -> torch.Tensor:
    """Sparse tensors have no such form; they stay as they are, to be refused by name."""
    return tensor.contiguous() if tensor.layout is torch.strided else tensor


def as_list(name: str, outputs: object) -> list[torch.Tensor]:
    """Outputs of a forward as a list of tensors, or a ProblemError that says what they are instead."""
    listed: list[torch.Tensor] = []
    for output in outputs if isinstance(outputs, tuple | list) else [outputs]:
        if not isinstance(output, torch.Tensor):
            raise ProblemError(f"forward of {name} returns a {type(output).__name__}; only tensors can be expressed.")
        listed.append(output)
    if not listed:
        raise ProblemError(f"forward of {name} returns nothing.")
    return listed


def weights(model: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters by dotted name, in registration order."""
    return {name: parameter.data for name, parameter in model.named_parameters()}


def buffers(model: nn.Module) -> dict[str, torch.Tensor]:
    """Registered buffers, and tensors that modules keep as plain attributes, by dotted name.

    A tensor that two modules hold is listed under both names: each can be assigned on its own.
    """
    found: dict[str, torch.Tensor] = {}
    for prefix, module in model.named_modules():
        for name, buffer in module.named_buffers(prefix, recurse=False, remove_duplicate=False):
            found[name] = buffer
    known = {id(tensor) for tensor in (*found.values(), *model.parameters())}
    for prefix, module in model.named_modules():
        for attribute, value in vars(module).items():
            if isinstance(value, torch.Tensor) and id(value) not in known:
                found[f"{prefix}.{attribute}" if prefix else attribute] = value
    return found


def assign(model: nn.Module, state: dict[str, torch.Tensor]) -> None:
    """Make the model use these very tensors as its parameters and buffers, by dotted name."""
    for name, tensor in state.items():
        path, _, attribute = name.rpartition(".")
        module = model.get_submodule(path)
        if attribute in module._parameters:
            parameter = module._parameters[attribute]
            assert parameter is not None
            parameter.data = tensor
        else:
            setattr(module, attribute, tensor)


def convert(model: nn.Module, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Replace every parameter and buffer by what `change` makes of it."""
    state: dict[str, Any] = {**weights(model), **buffers(model)}
    assign(model, {name: change(tensor) for name, tensor in state.items()})
