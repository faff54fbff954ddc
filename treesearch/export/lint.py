"""What is known to break for others, although it runs for whoever wrote it: no export holds it.

It looks at the kernel and at what is generated from it, by the text: a CUDA launch without a stream, or without a
device guard around it, an architecture that no device is asked about, a fallback that nobody hears of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from treesearch.errors import UsageError
from treesearch.export.exported import Exported
from treesearch.export.files import Files

MOST_NAMED = 5
"""Findings that one message names."""


@dataclass(frozen=True)
class Finding:
    """What is wrong at a line of a file, and what to change."""

    file: str
    line: int
    wrong: str
    change: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.wrong}; {self.change}"


def require(exported: Exported, files: Files) -> None:
    """Raises UsageError that names what to change, where anything is found."""
    found = list(look(exported.source, f"kernel{exported.language.suffix}"))
    for name, content in files.items():
        if isinstance(content, str) and not _is_ours_to_run_alone(name):
            found += look(content, name)
    if found := list(dict.fromkeys(found)):
        said = " · ".join(map(str, found[:MOST_NAMED]))
        raise UsageError(f"Kernel {exported.id} is not exported, since it would fail for others: {said}.")


def _is_ours_to_run_alone(name: str) -> bool:
    """The reference is what the kernel is compared with, and tests are no part of what others call."""
    return name.endswith("reference.py") or name.rpartition("/")[2].startswith("test_")


def look(text: str, file: str) -> Iterator[Finding]:
    """What is wrong with a source, of C, C++ or CUDA, or of Python, which may hold such a source in its strings."""
    if file.endswith(".py"):
        yield from _python(text, file)
    elif file.endswith((".cu", ".cpp", ".h")):
        yield from _launches(text, file)


# ── C and CUDA ──────────────────────────────────────────────────────────────────────────────────

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
COPY = re.compile(r"\b(cuda(?:Memset|Memcpy)\w*)\s*\(")
LAUNCH = re.compile(r"<<<(.*?)>>>", re.DOTALL)
DEFAULT_STREAMS = {"", "0", "NULL", "nullptr", "cudaStreamLegacy", "cudaStreamPerThread", "cudaStreamDefault"}
STREAM = 3
"""Place of the stream between <<< and >>>."""
USE_THE_STREAM = "pass the stream that launch is given, or torch's current one"


def _launches(text: str, file: str) -> Iterator[Finding]:
    """Launches that name no stream, or the default one."""
    bare = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in LAUNCH.finditer(bare):
        given = _split(found[1])
        stream = re.sub(r"\(\s*cudaStream_t\s*\)", "", given[STREAM]).strip() if len(given) > STREAM else ""
        if stream in DEFAULT_STREAMS:
            yield Finding(file, _line(bare, found.start()), "a launch on the default stream", USE_THE_STREAM)
    for found in COPY.finditer(bare):
        last = _split(bare[found.end() :])[-1].strip()
        if not found[1].endswith("Async") or last in DEFAULT_STREAMS:
            yield Finding(file, _line(bare, found.start()), f"{found[1]} on the default stream", USE_THE_STREAM)


def _split(arguments: str) -> list[str]:
    """What commas separate that stand in no brackets, up to the bracket that closes them all."""
    parts, depth = [""], 0
    for character in arguments:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            break
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


# ── Python ──────────────────────────────────────────────────────────────────────────────────────

GUARDS = re.compile(r"CUDAGuard|DeviceGuard|torch\.cuda\.device\(|cuda\.device_of\(|device_guard", re.ASCII)
RUNS_ON_GPUS = re.compile(r"<<<|@triton\.jit|current_stream\(")
PINNED = re.compile(r"\bsm_\d+[af]?\b|\bcompute_\d+[af]?\b|TORCH_CUDA_ARCH_LIST")
ASKED = re.compile(r"get_device_capability|get_device_properties")
HEARD = re.compile(r"\bwarn(?:ing|ings)?\b|\blog(?:ger|ging)?\b")
DOUBTFUL = re.compile(r"\bis_cuda\b|\bis_available\b|\.device\b|\.dtype\b|\.shape\b|\bis_contiguous\b|_available\b")


def _python(text: str, file: str) -> Iterator[Finding]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        yield Finding(file, line, f"it is no valid Python ({error})", "write it so that it can be imported")
        return
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for node in strings:
        for found in _launches(str(node.value), file):
            yield Finding(file, node.lineno + found.line - 1, found.wrong, found.change)
    yield from _unguarded(text, file)
    yield from _pinned(text, strings, file)
    yield from _silent(tree, file)


def _unguarded(text: str, file: str) -> Iterator[Finding]:
    """Code for GPUs that runs on whichever of them is current, not on that of its inputs."""
    if (runs := RUNS_ON_GPUS.search(text)) and not GUARDS.search(text):
        change = "put torch.cuda.device(x.device) or at::cuda::CUDAGuard around it"
        yield Finding(file, _line(text, runs.start()), "a launch without a device guard", change)


def _pinned(text: str, strings: list[ast.Constant], file: str) -> Iterator[Finding]:
    """An architecture that code is compiled for, and that no device is compared with."""
    if ASKED.search(text):
        return
    for node in strings:
        if found := PINNED.search(str(node.value)):
            wrong = f"{found[0]} is pinned without a check of the device"
            yield Finding(file, node.lineno, wrong, "compare torch.cuda.get_device_capability() before it runs")
            return


def _silent(tree: ast.Module, file: str) -> Iterator[Finding]:
    """Handlers that swallow an error, and detours around the kernel for inputs of another kind, without a word."""
    change = "raise, or warn with the reason"
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and not _is_heard(node.body) and not _is_absence(node):
            yield Finding(file, node.lineno, "an error is swallowed", change)
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            yield from _detours(node, file, change)


def _detours(forward: ast.FunctionDef, file: str, change: str) -> Iterator[Finding]:
    for node in ast.walk(forward):
        if not isinstance(node, ast.If) or not DOUBTFUL.search(ast.unparse(node.test)) or _is_heard(node.body):
            continue
        returns = [one for statement in node.body for one in ast.walk(statement) if isinstance(one, ast.Return)]
        if any(isinstance(one.value, ast.Call) for one in returns):
            yield Finding(file, node.lineno, "a silent fallback", change)


def _is_heard(body: list[ast.stmt]) -> bool:
    inside = [node for statement in body for node in ast.walk(statement)]
    return any(isinstance(node, ast.Raise) or _is_said(node) for node in inside)


def _is_said(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and bool(HEARD.search(ast.unparse(node.func)))


def _is_absence(handler: ast.ExceptHandler) -> bool:
    """Whether it says what to do without a file or a module, which is no way round the kernel."""
    named = ast.unparse(handler.type) if handler.type else ""
    return named in ("OSError", "FileNotFoundError", "AttributeError")
