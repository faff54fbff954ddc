"""The format `module`: one Python file, generated from a kernel's plain C, that needs torch and a compiler."""

from __future__ import annotations

import keyword
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treesearch.export import checks
from treesearch.export.exported import Exported
from treesearch.export.files import Files, render
from treesearch.languages import Language
from treesearch.problem import libraries
from treesearch.records import Argument, Label, Role

MODES = re.compile(r"BatchNorm|batch_norm|Dropout|dropout|RReLU|rrelu|\btraining\b")
"""What makes a reference compute something else in eval mode. Kernels are judged in train mode, as KernelBench does."""
ALIGNMENT = {"cuda": 256, "cpu": 64}
"""Bytes at whose multiples tensors start, as far as it matters: what torch's allocators give, and at least what the
widest loads of the device ask for."""
NUMBERS = {"bool": "bool", "int64": "int", "float64": "float"}
"""Types of numbers in Python, by those of the signature."""
STATISTICS = re.compile(r"BatchNorm|batch_norm")
REMARKS = {
    Label.FIXED_INPUTS: "Some inputs were the same in every draw; nothing shows that it reads them.",
    Label.VARYING: "Equal calls give answers that are right but not equal bit by bit.",
}
Value = bool | int | float
INPUTS = (Role.INPUT, Role.SCALAR, Role.PARAMETER, Role.BUFFER)


@dataclass(frozen=True)
class Given:
    """One argument of `launch`, as Python writes it."""

    name: str
    type: str
    shape: tuple[int, ...] | None

    @classmethod
    def of(cls, argument: Argument) -> Given:
        name = f"{argument.name}_" if keyword.iskeyword(argument.name) else argument.name
        if argument.role is Role.SCALAR:
            return cls(name, NUMBERS[argument.dtype], None)
        return cls(name, f"torch.{argument.dtype}", argument.shape)

    @property
    def declared(self) -> str:
        """Its place in the operator's schema."""
        return f"{'Tensor' if self.shape is not None else self.type} {self.name}"


def file_name(exported: Exported) -> str:
    return f"{exported.name}_kernel"


def files(exported: Exported) -> Files:
    name = file_name(exported)
    if not exported.language.sealed:  # a module already, and exported as it is
        made = {f"{name}.py": exported.source, "reference.py": exported.problem.source}
    else:
        made = {f"{name}.py": generated(exported, name)}
    return {**made, f"test_{name}.py": checks.generated(exported, name)}


def use(exported: Exported, target: Path) -> tuple[str, str]:
    name = file_name(exported)
    return (
        f"from {name} import ModelNew  # in place of the reference's Model",
        f"pytest {shlex.quote(str(target / f'test_{name}.py'))}",
    )


def generated(exported: Exported, file: str, *, frozen: bool = False) -> str:
    """The Python file of a kernel in plain C. One that is `frozen` never asks for gradients of its parameters."""
    return render("module.py.j2", ahead=False, **described(exported, file, frozen=frozen))


def described(exported: Exported, file: str, *, frozen: bool = False) -> dict[str, Any]:
    """What the template is told of a kernel."""
    problem, language, signature = exported.problem, exported.language, exported.problem.signature
    given = [Given.of(argument) for argument in signature.of(*INPUTS)]
    made = [Given.of(argument) for argument in signature.of(Role.OUTPUT)]
    kind = exported.device.kind
    returned = ", ".join("Tensor" for _ in made)
    return {
        "title": problem.name,
        "file": file,
        "kernel": exported.id,
        "device_name": exported.device.name,
        "remarks": remarks(exported),
        "operator": f"{exported.name}_{exported.id}{'_frozen' if frozen else ''}",
        "kind": kind,
        "cuda": kind == "cuda",
        "architecture": exported.architecture,
        "alignment": ALIGNMENT[kind],
        "given": given,
        "made": made,
        "only": _only(exported),
        "schema": f"({', '.join(one.declared for one in given)}) -> {returned if len(made) == 1 else f'({returned})'}",
        "compiler": Path(COMPILERS[kind]).name,
        "flags": flags(language, exported),
        "header": language.header(problem),
        "source": exported.source,
        "source_file": f"kernel{language.suffix}",
        "reference": problem.source,
        "frozen": frozen,
        "mode_matters": bool(MODES.search(problem.source)),
        "state": [attribute(argument.origin) for argument in signature.of(Role.PARAMETER, Role.BUFFER)],
    }


def remarks(exported: Exported) -> list[str]:
    """What whoever uses the kernel should know."""
    said = [REMARKS[label] for label in exported.evaluation.labels if label in REMARKS]
    if STATISTICS.search(exported.problem.source):
        said.append("The reference keeps running statistics in train mode; the kernel does not update them.")
    return said


def _only(exported: Exported) -> list[tuple[str, Value]]:
    """Numbers that each draw of the problem has the same, by name, where nothing shows that the kernel reads them."""
    numbers = exported.problem.signature.of(Role.SCALAR)
    if Label.FIXED_INPUTS not in exported.evaluation.labels or not numbers:
        return []
    from treesearch.problem.reference import Reference  # torch, which a kernel without numbers can do without

    reference = Reference(exported.problem.name, exported.problem.source, "meta")  # shapes are enough, and cost nothing
    draws = [[one for one in reference.inputs(seed) if isinstance(one, bool | int | float)] for seed in (1, 2)]
    named = zip((Given.of(number).name for number in numbers), *draws, strict=True)
    return [(name, first) for name, first, second in named if first == second]


COMPILERS = {"cuda": "nvcc", "cpu": "g++"}
RUNTIME = ("-cudart", "shared")
"""What depends on where nvcc lies; generated files find it out for themselves."""


def flags(language: Language, exported: Exported) -> list[str]:
    """What the compiler is told, as the evaluator tells it, in a folder that holds the kernel and problem.h."""
    compiler = COMPILERS[exported.device.kind]
    command = language.command(compiler, Path(f"kernel{language.suffix}"), Path("kernel.so"), exported.architecture)
    words = [word for word in command[1:] if word not in RUNTIME]
    return words + [f"-l{name}" for name in libraries.allowed(exported.problem.source)]


def attribute(origin: str) -> str:
    """How a module reaches a parameter or buffer of a dotted name, which may go through numbers and any other text."""
    reached = "self"
    for part in origin.split("."):
        plain = part.isidentifier() and not keyword.iskeyword(part)
        reached = f"{reached}.{part}" if plain else f"getattr({reached}, {part!r})"
    return reached
