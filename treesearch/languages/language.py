"""What a kernel language has to say for itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from treesearch.languages.imports import Imports
from treesearch.languages.mix import Disassembler
from treesearch.records import Argument, Problem, Resources, Role


def _none_reported(_log: str) -> tuple[Resources, ...]:
    return ()


@dataclass(frozen=True)
class Entry:
    """What a source file must define, and how it is told from an excerpt."""

    name: str
    """What it is, with its article, as sentences name it."""
    pattern: str
    """Regular expression of it in a source."""
    whole: str
    """Regular expression of what only a complete file has."""


LAUNCH = Entry("a launch function", r"\blaunch\s*\(", r'^\s*#\s*include\s*[<"]problem\.h[>"]')


@dataclass(frozen=True)
class Language:
    """A kernel language: how its header is written, how it is compiled, how its answers are fenced.

    The contract of sealed languages is the same: `extern "C" int launch(inputs and scalars, parameters, buffers,
    outputs, void* scratch, …)`, returning 0 for success.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    fences: tuple[str, ...]
    """Tags of the fenced blocks that models put such code in."""
    contract: str
    """Template partial in prompts/ that states the contract."""
    device_kinds: tuple[str, ...]
    """Kinds of device its kernels run on, `cpu` or `cuda`, the preferred one first."""
    tensor_types: Mapping[str, str]
    """torch dtype → C element type behind a pointer."""
    scalar_types: Mapping[str, str]
    """torch dtype → C type passed by value."""
    preamble: str
    """What problem.h includes and defines before the problem's own constants."""
    trailing_parameters: tuple[str, ...]
    """Parameters of `launch` after the scratch pointer."""
    compiler: Callable[[], str | None]
    """Path of the compiler, or None where it is absent."""
    compiler_hint: str
    """How to get the compiler."""
    command: Callable[[str, Path, Path, str], list[str]]
    """Command line that compiles a source file into a shared object: (compiler, source, output, architecture).

    The architecture is that of the target device; empty means `architecture`, the language's own default.
    """
    target: Callable[[], str]
    """What the object code depends on besides source and command line, such as the CPU that `native` means."""
    sealed: bool = True
    """Whether a kernel is compiled code alone, behind the C contract. Where not, its own Python runs in the process
    that times it, there is no header, and its verdict says so."""
    entry: Entry = LAUNCH
    """What an answer is recognised by."""
    architecture: str = ""
    """What kernels are compiled for where no device says otherwise; empty where that is the machine that compiles."""
    imports: Imports | None = None
    """What its shared objects may have the loader look up; None where a kernel is no shared object."""
    includes: Mapping[str, str] = field(default_factory=dict)
    """torch dtype → line of problem.h that its element type needs."""
    resources: Callable[[str], tuple[Resources, ...]] = _none_reported
    """What a compiler's log says that each device function takes."""
    readable: Callable[[str], str] = str
    """A compiler's log without what `resources` has read out of it."""
    disassembler: Disassembler | None = None
    """How the instructions of its shared objects are shown; None where a kernel is no shared object."""

    @property
    def suffix(self) -> str:
        return self.suffixes[0]

    def runs_on(self, kind: str) -> bool:
        """Whether its kernels run on that kind of device."""
        return kind in self.device_kinds

    def header(self, problem: Problem) -> str:
        """Text of `problem.h`: element counts and dimensions as constants, then the prototype of `launch`."""
        used = {argument.dtype for argument in problem.signature.arguments}
        includes = [line for dtype, line in self.includes.items() if dtype in used]
        printable = (one if one.isprintable() else " " for one in problem.name)
        name = " ".join("".join(printable).split())  # one line, as the comment is
        lines = [f"// Generated from the reference of {name}.", "#pragma once", self.preamble, *includes, ""]
        for argument in problem.signature.arguments:
            lines += self._constants(argument)
        return "\n".join([*lines, "", self.prototype(problem), ""])

    def prototype(self, problem: Problem) -> str:
        parameters = [self._parameter(argument) for argument in problem.signature.arguments]
        parameters += ["void* scratch", *self.trailing_parameters]
        return 'extern "C" int launch(' + ", ".join(parameters) + ");"

    def _constants(self, argument: Argument) -> list[str]:
        if argument.role is Role.SCALAR:
            return [f"// {argument.name}: {argument.dtype}, by value"]
        dimensions = [f"{argument.name}_dim{axis} = {size}" for axis, size in enumerate(argument.shape)]
        count = 1
        for size in argument.shape:
            count *= size
        where = f", {argument.origin}" if argument.origin not in ("", argument.name) else ""
        shape = "×".join(map(str, argument.shape)) or "one element"
        return [
            f"// {argument.name}: {argument.role} of {argument.dtype}, {shape}{where}",
            f"constexpr int64_t {', '.join([f'{argument.name}_numel = {count}', *dimensions])};",
        ]

    def _parameter(self, argument: Argument) -> str:
        if argument.role is Role.SCALAR:
            return f"{self.scalar_types[argument.dtype]} {argument.name}"
        constant = "" if argument.role is Role.OUTPUT else "const "
        return f"{constant}{self.tensor_types[argument.dtype]}* {argument.name}"


def identifier(name: str) -> str:
    """A C identifier as close to `name` as C and C++ allow."""
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not cleaned or cleaned[0].isdigit():
        cleaned = f"_{cleaned}"
    return f"{cleaned}_" if cleaned in RESERVED else cleaned


RESERVED = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval "
    "constexpr constinit continue decltype default delete do double dynamic_cast else enum explicit export extern "
    "false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or "
    "or_eq private protected public register reinterpret_cast requires return short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq restrict launch scratch scratch_bytes stream main "
    "errno stdin stdout stderr NULL INFINITY NAN assert y0 y1 yn j0 j1 jn gamma signgam linux unix".split()
)
"""Keywords, the contract's own names, and names that the C library takes at file scope."""
