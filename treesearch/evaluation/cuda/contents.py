"""The call that tools watch a kernel make, as files for `once.py`: its contents are the same for all kernels.

To draw and write them takes seconds where tensors are large, so that is done once for a problem. A kernel's process may
read them, and write to a folder of its own alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Self

import torch

from treesearch.evaluation import inputs
from treesearch.problem.reference import Reference
from treesearch.records import Argument, Problem, Role

SEED = 20


class Contents:
    """What a problem's inputs and parameters hold, drawn when it is first needed and kept until it is closed."""

    def __init__(self) -> None:
        self._kept: tempfile.TemporaryDirectory[str] | None = None
        self._problem = ""
        self._arguments: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the files; they are made again for whoever needs them after all."""
        self._problem = ""
        if self._kept is not None:
            self._kept.cleanup()
            self._kept = None

    def write_call(self, folder: Path, library: Path, problem: Problem, cudart: str) -> Path:
        """Put into `folder` what the process needs to know. Returns the folder of the contents, for it to read."""
        if self._kept is None or self._problem != problem.digest:
            self.close()
            self._kept = tempfile.TemporaryDirectory(prefix="treesearch-")
            os.chmod(self._kept.name, 0o755)  # for a tool that runs as another user
            self._arguments = _written(Path(self._kept.name), problem)
            self._problem = problem.digest
        call = {"library": str(library), "cudart": cudart, "arguments": self._arguments}
        (folder / "call.json").write_text(json.dumps(call))
        return Path(self._kept.name)


def _written(folder: Path, problem: Problem) -> list[dict[str, Any]]:
    """What is told of each argument; those that are tensors and no outputs have a file."""
    made = inputs.sample(problem, Reference(problem.name, problem.source), SEED)
    scalars = iter(made.scalars)
    arguments: list[dict[str, Any]] = []
    for index, argument in enumerate(problem.signature.arguments):
        if argument.role is Role.SCALAR:
            arguments.append({"kind": argument.dtype, "value": next(scalars)})
        else:
            content = _write(folder / f"{index}.bin", argument, made.values)
            arguments.append({"kind": "tensor", "bytes": argument.nbytes, "content": content})
    return arguments


def _write(path: Path, argument: Argument, values: dict[str, torch.Tensor]) -> str:
    """Path of the file with a tensor's contents; nothing for an output."""
    if argument.role is Role.OUTPUT:
        return ""
    tensor = values[argument.name].cpu().contiguous()
    path.write_bytes(ctypes.string_at(tensor.data_ptr(), tensor.nbytes))
    return str(path)
