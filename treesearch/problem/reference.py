"""A live reference: the problem's Python code, executed, with its random draws under control."""

from __future__ import annotations

import copy
import inspect
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from functools import partial
from types import ModuleType
from typing import Any, Self, TypeVar

import torch
from torch import nn

from treesearch.errors import MachineError, ProblemError
from treesearch.records import digest

Value = torch.Tensor | bool | int | float
"""What a reference may take as an input."""
Change = Callable[[torch.Tensor], torch.Tensor]
T = TypeVar("T")


class Reference:
    """`Model`, `get_inputs` and `get_init_inputs` of one problem, on one torch device.

    Everything random in it is a function of the device and of the seeds given here. Whatever the problem's code
    raises becomes a ProblemError that names the line.
    """

    def __init__(self, name: str, source: str, device: str = "cpu") -> None:
        """`device` is where models, inputs and forwards live; on `meta` there are shapes, and no data."""
        self.name = name
        self.device = device
        self.module = self._execute(source)
        for required in ("Model", "get_inputs", "get_init_inputs"):
            if not callable(getattr(self.module, required, None)):
                raise ProblemError(f"{name} defines no {required}; a problem has Model, get_inputs, get_init_inputs.")

    def on(self, device: str) -> Self:
        """The same reference, its code not run again, on another device."""
        other = copy.copy(self)
        other.device = device
        return other

    @property
    def tolerance(self) -> float:
        """The problem's own TOLERANCE, or 1e-2."""
        tolerance = getattr(self.module, "TOLERANCE", 1e-2)
        if not isinstance(tolerance, int | float) or not 0 < tolerance < 1:
            raise ProblemError(f"TOLERANCE of {self.name} is {tolerance!r}; it must be a number between 0 and 1.")
        return float(tolerance)

    @property
    def stress(self) -> dict[str, Change]:
        """The problem's own STRESS: by name, what it makes of a floating-point input, which is given as float32.

        Raises ProblemError for anything but names and functions; so does a function that changes the shape.
        """
        declared = getattr(self.module, "STRESS", {})
        if not isinstance(declared, dict):
            raise ProblemError(f"STRESS of {self.name} is a {type(declared).__name__}; it must be a dict of functions.")
        for name, change in declared.items():
            if not (isinstance(name, str) and name.strip() and callable(change)):
                raise ProblemError(f"STRESS of {self.name} maps {name!r} to {change!r}; it maps names to functions.")
        return {name: partial(self._stressed, name, change) for name, change in declared.items()}

    @property
    def has_oracle(self) -> bool:
        """Whether the problem defines `oracle(model, *inputs)`."""
        oracle = getattr(self.module, "oracle", None)
        if oracle is not None and not callable(oracle):
            raise ProblemError(f"oracle of {self.name} is a {type(oracle).__name__}; it must be a function.")
        return oracle is not None

    def model(self, seed: int) -> nn.Module:
        """A new model whose initial weights are a function of `seed`; in train mode, as KernelBench runs it."""

        def build() -> object:
            self._seed(seed)
            arguments = self.module.get_init_inputs()
            self._seed(seed)
            return self.module.Model(*arguments)

        with self._guarded("Model(*get_init_inputs())"), self._forked():
            model = self._placed(build)
            if not isinstance(model, nn.Module):
                raise ProblemError(f"Model of {self.name} is not a torch.nn.Module.")
            return _moved(model, self.device).requires_grad_(False)

    def inputs(self, seed: int) -> list[Value]:
        """One draw of `get_inputs()`, tensors detached and contiguous."""

        def draw() -> object:
            self._seed(seed)
            return self.module.get_inputs()

        with self._guarded("get_inputs()"), self._forked():
            drawn = self._placed(draw)
            if not isinstance(drawn, list | tuple):
                raise ProblemError(f"get_inputs() of {self.name} returns a {type(drawn).__name__}, not a list.")
            return [_plain(value, self.device) if isinstance(value, torch.Tensor) else value for value in drawn]

    def forward(self, model: nn.Module, inputs: list[Value], seed: int = 0) -> list[torch.Tensor]:
        """The model's outputs as a list. Neither the inputs nor the global random state are changed by us."""
        with self._running("forward", seed):
            outputs = model(*inputs)
        return as_list(self.name, outputs)

    def exact(self, model: nn.Module, inputs: list[Value]) -> list[torch.Tensor]:
        """The outputs by the problem's own `oracle`, where it has one, else by forward.

        The caller converts model and inputs to float64 beforehand. An oracle exists for answers that would not
        fit in memory whole; it may call the model on slices.
        """
        if not self.has_oracle:
            return self.forward(model, inputs)
        with self._running("oracle", 0):
            outputs = self.module.oracle(model, *inputs)
        return as_list(self.name, outputs, "oracle")

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

    def _placed(self, make: Callable[[], T]) -> T:
        """What `make` returns, made on the device itself where it can be: gigabytes need not cross a bus.

        Else it is made on the CPU, and its tensors are for the caller to move.
        """
        if self.device != "cpu":
            # A user's code may raise anything here; what it raises on the CPU is what counts.
            try:
                with torch.device(self.device):
                    return make()
            except torch.OutOfMemoryError:
                raise
            except Exception:  # see above
                pass
        return make()

    def _stressed(self, name: str, change: Change, x: torch.Tensor) -> torch.Tensor:
        what = f"STRESS[{name!r}]"
        with self._running(what, 0):
            changed = change(x)
        if not isinstance(changed, torch.Tensor):
            raise ProblemError(f"{what} of {self.name} returns a {type(changed).__name__}, not a tensor.")
        if changed.shape != x.shape:
            was, became = tuple(x.shape), tuple(changed.shape)
            raise ProblemError(f"{what} of {self.name} makes shape {became} of {was}; only values may change.")
        return changed

    @contextmanager
    def _running(self, doing: str, seed: int) -> Iterator[None]:
        """Tensors that the code makes without naming a device are made on this one."""
        place: AbstractContextManager[object] = nullcontext() if self.device == "cpu" else torch.device(self.device)
        with self._guarded(doing), torch.no_grad(), self._forked(), place:
            self._seed(seed)
            yield

    def _seed(self, seed: int) -> None:
        """torch.manual_seed, for the devices that are drawn on: it seeds all others too, a millisecond on a GPU."""
        torch.default_generator.manual_seed(seed)
        if torch.device(self.device).type == "cuda":
            torch.cuda.manual_seed_all(seed)

    def _forked(self) -> AbstractContextManager[None]:
        """What is drawn inside leaves the random states outside as they are."""
        device = torch.device(self.device)
        return torch.random.fork_rng([device] if device.type == "cuda" else [])

    @contextmanager
    def _guarded(self, doing: str) -> Iterator[None]:
        try:
            with redirect_stdout(sys.stderr):  # standard output is for our data
                yield
        except ProblemError:
            raise
        except torch.OutOfMemoryError as error:
            raise MachineError(
                f"There is not enough GPU memory for {doing} of {self.name}; use smaller shapes or a larger GPU."
            ) from error
        except (Exception, SystemExit) as error:  # a user's code may raise anything
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if self.name in frame.filename]
            lineno = getattr(error, "lineno", None) or (lines[-1] if lines else None)
            where = f" at line {lineno}" if lineno else ""
            what = " ".join(str(error).split())[:300]
            raise ProblemError(f"{self.name}: {doing} raised {type(error).__name__}{where}: {what}") from error


def _plain(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """Detached, on the device and contiguous; sparse tensors have no such form, and stay to be refused by name."""
    moved = tensor.detach().to(device)
    return moved.contiguous() if moved.layout is torch.strided else moved


def _moved(model: nn.Module, device: str) -> nn.Module:
    """With all that it holds on the device, tensors in plain attributes included."""
    if device != "cpu":
        model = model.to(device)
        assign(model, {name: tensor.to(device) for name, tensor in buffers(model).items()})
    return model


def as_list(name: str, outputs: object, function: str = "forward") -> list[torch.Tensor]:
    """What a forward returned as a list of tensors, or a ProblemError that says what it is instead."""
    listed: list[torch.Tensor] = []
    for output in outputs if isinstance(outputs, tuple | list) else [outputs]:
        if not isinstance(output, torch.Tensor):
            kind = type(output).__name__
            raise ProblemError(f"{function} of {name} returns a {kind}; only tensors can be expressed.")
        listed.append(output)
    if not listed:
        raise ProblemError(f"{function} of {name} returns nothing.")
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
