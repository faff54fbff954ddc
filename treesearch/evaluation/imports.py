"""Whether a built library asks the dynamic loader only for what a kernel has a use for.

A function that is not there for the asking is not out of reach: machine code can enter the kernel by itself, or count
from the address of a function that it may have to one that it may not. What it then reaches is up to the sandbox, which
on a CPU also keeps it from executing other code. This check tells, before anything runs, what is no honest kernel: one
that opens files, waits, allocates device memory, or has a library do its work.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from treesearch.errors import MachineError
from treesearch.evaluation import checks, elf
from treesearch.evaluation.checks import Check, Checks
from treesearch.languages import Language
from treesearch.languages.imports import Imports, with_libraries
from treesearch.problem import libraries
from treesearch.records import Problem

MOST_NAMED = 6
DRIVER_ENTRY = "cudaGetDriverEntryPoint"
DRIVER_FUNCTION = re.compile(
    rb"(?<=\0)cu(?:Mem|Stream|Graph|Event|Ctx|DevicePrimaryCtx|DeviceSet|DeviceGraph|DeviceGetDefaultMemPool|Module|Library|"
    rb"Link|Launch|Ipc|Pointer|Array|Import|Export|External|Thread|UserObject|Green|GetProcAddress|GetExportTable|"
    rb"Func(?:Load|Set)|Kernel(?:Set|GetFunction)|Logs|Checkpoint|Multicast|Profiler)\w{0,60}(?=\0)"
)
"""Functions of the driver that no launch has a use for; those that make tensor maps are not among them."""
RUNTIME_NAMES = ("cuda", "__cuda")


def refused(library: Path, language: Language, problem: Problem, without: Checks = checks.NONE) -> str:
    """Why the library must not be loaded, in words for whoever wrote it; nothing where it may be.

    `without` may leave out SYMBOLS. A file that is no shared object, or one such as no linker makes, is
    refused.
    """
    if language.imports is None or Check.SYMBOLS in without:
        return ""
    imports = with_libraries(language.imports, libraries.allowed(problem.source))
    try:
        found = elf.read(library)
    except elf.Malformed as error:
        return f"what was built is not a shared object that can be examined: {error}"
    except OSError as error:
        raise MachineError(f"Cannot read {library}: {error}.") from error
    reasons = _libraries(found, imports) + _functions(found, imports, library)
    if not reasons:
        return ""
    return "; ".join([*reasons, *([imports.advice] if imports.advice else [])])


def needed(library: Path) -> tuple[str, ...]:
    """The libraries that a candidate names; none for a candidate that is no library."""
    try:
        return elf.read(library).needed
    except (elf.Malformed, OSError):
        return ()


def calls_library(library: Path, problem: Problem) -> bool:
    """Whether the library needs one that its problem allows. Of a library that `refused` lets pass."""
    allowed = with_libraries(Imports((), ()), libraries.allowed(problem.source))
    return any(allowed.has_library(name) for name in elf.read(library).needed)


def _libraries(found: elf.Dynamic, imports: Imports) -> list[str]:
    reasons = []
    if unknown := [name for name in found.needed if not imports.has_library(name)]:
        reasons.append(f"the library needs {_listed(unknown)}, which this problem does not allow")
    if found.redirections:
        reasons.append(f"the library sets {_listed(found.redirections)}, which changes where others are looked for")
    if found.changes_code:
        reasons.append("the library asks for memory that can be both written and executed")
    return reasons


def _functions(found: elf.Dynamic, imports: Imports, library: Path) -> list[str]:
    reasons = []
    if unknown := [name for name in sorted(found.imported) if not imports.has_function(name)]:
        reasons.append(f"the library imports {_listed(unknown)}, which a kernel has no use for")
    if hiding := [name for name in sorted(found.own) if not imports.has_function(name) and _namesake(name)]:
        reasons.append(f"the library defines {_listed(hiding)}, and would get the function of that name instead")
    if any(name.startswith(DRIVER_ENTRY) for name in found.imported) and (asked := _asked_of_driver(library)):
        reasons.append(f"the library asks the driver for {_listed(asked)}, which a launch has no use for")
    return reasons


def _namesake(name: str) -> bool:
    """Whether a name is bound to something else than the library's own definition of it.

    The loader searches the process first and the library afterwards, whatever it defines: a definition of `open`
    would cover up a call of the C library's. The reverse, a library that puts its `malloc` before that of others,
    needs no rule: workers load it with RTLD_LOCAL, so that nothing loaded earlier sees what it defines. The process
    asked here is the controller, which runs the same interpreter and C library as the worker, without the CUDA runtime.
    """
    if name.startswith(RUNTIME_NAMES):
        return True
    try:
        ctypes.CDLL(None)[name]
    except AttributeError:
        return False
    return True


def _asked_of_driver(library: Path) -> list[str]:
    """Driver functions named in the file. Names put together at run time are not found; what they then do may be."""
    return sorted({name.decode() for name in DRIVER_FUNCTION.findall(library.read_bytes())})


def _listed(names: list[str] | tuple[str, ...]) -> str:
    shown = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        return f"{', '.join(shown)} and {len(names) - MOST_NAMED} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
