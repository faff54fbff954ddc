"""What happens around a forward on one set of shared buffers, before there is a candidate and afterwards."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from treesearch.evaluation import baseline
from treesearch.evaluation.baseline import Subject
from treesearch.evaluation.open.contract import Broken, memory

KERNEL, NOTHING = "kernel", "nothing"
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def map_tensor(buffer: dict[str, Any], shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor over a described buffer, with no more access than the candidate is due, and no descriptor left."""
    access = mmap.PROT_READ | (mmap.PROT_WRITE if buffer["writable"] else 0)
    address = LIBC.mmap(None, buffer["length"], access, mmap.MAP_SHARED, buffer["descriptor"], 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        raise OSError("cannot map a buffer")
    os.close(buffer["descriptor"])
    memory = (ctypes.c_uint8 * buffer["length"]).from_address(address)
    nbytes = torch.empty(shape, dtype=dtype, device="meta").nbytes
    data = torch.frombuffer(memory, dtype=torch.uint8)
    return data[buffer["offset"] : buffer["offset"] + nbytes].view(dtype).view(shape)


class HostSubject(Subject):
    map = staticmethod(map_tensor)


class Bare:
    """A set of shared buffers, and all that happens around a forward on them, before there is a candidate."""

    def __init__(self, call: dict[str, Any], described: list[dict[str, Any]]) -> None:
        self.device = torch.device(call["device"])
        self.poisons = "poison" not in call.get("without", ())
        self.wanted: dict[str, Any] | None = call.get("answers")
        """What is known of the reference's answers (`contract.Answers`)."""
        made = HostSubject if self.device.type == "cpu" else baseline.kind(self.device.type)
        self.subject = self.latest = made(call, described)
        self.subject.calls = {NOTHING: lambda *inputs: None}
        state, parameters = self.subject.state, self.subject.parameters
        self.changing = [(tensor.clone(), tensor) for name, tensor in state.items() if name not in parameters]
        """Own copies of buffers, beside the shared ones."""
        self.last = [torch.empty_like(shared) for shared in self.subject.outputs]
        """The outputs of the last call."""
        self.poisoned: list[torch.Tensor] = []
        """Those of the call before, in memory that holds nothing but poison since."""

    def launch(self, which: str, scalars: list[Any], subject: Subject) -> int:
        """Nanoseconds of one call on a set's inputs; the outputs are then in its shared buffers.

        Parameters and buffers are those of this very set, whichever `subject` is.
        """
        self._renew()
        self.latest = subject
        self.latest.calls = self.subject.calls
        nanoseconds, returned = self.latest.call(which, scalars)
        if which == KERNEL:
            self.last = self._checked(returned)
        self._hand_over()
        return nanoseconds

    def settle(self) -> None:
        """Nothing was called that could have done harm."""

    def _renew(self) -> None:
        """Before a call: buffers as they are shared, and nothing of the last answer in memory that may be given again.

        A forward that leaves its output as it found it would pass otherwise.
        """
        for own, shared in self.changing:
            own.copy_(shared)
        kept = set(map(memory, self._kept()))
        left = [output for output in self.last if self.poisons and memory(output) not in kept]
        with torch.inference_mode():  # which an output may have been made in
            for output in left:
                output.fill_(_poison(output))
        self.poisoned = left

    def _kept(self) -> list[object]:
        """What an output may be in without being its caller's alone."""
        return [*self.subject.state.values(), *self.latest.inputs]

    def _hand_over(self) -> None:
        self._show(self.last)

    def _show(self, outputs: Sequence[torch.Tensor]) -> None:
        for shared, output in zip(self.latest.outputs, outputs, strict=True):
            shared.copy_(output)
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _checked(self, returned: object) -> list[torch.Tensor]:
        """The outputs, if they are the reference's in number, kind, shape and dtype; else raises Broken."""
        outputs = returned if isinstance(returned, list) else []
        if len(outputs) != len(self.subject.outputs):
            raise Broken(f"forward returns {len(outputs)} values, and the reference {len(self.subject.outputs)}")
        for index, (output, shared) in enumerate(zip(outputs, self.subject.outputs, strict=True)):
            if type(output) not in (torch.Tensor, nn.Parameter):  # a subclass could compute when it is copied
                raise Broken(f"output {index} is a {type(output).__name__}, not a plain torch.Tensor")
            if output.shape != shared.shape or output.dtype != shared.dtype or output.device != shared.device:
                raise Broken(f"output {index} is {_form(output)}; it has to be {_form(shared)}")
        return outputs


def _poison(output: torch.Tensor) -> float:
    return math.nan if output.is_floating_point() else 1


def _form(tensor: torch.Tensor) -> str:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return f"{tuple(tensor.shape)} of {dtype} on {tensor.device.type}"
