"""From a source text to a shared object, once per content."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from treesearch import feedback
from treesearch.errors import MachineError, ToolchainError
from treesearch.evaluation import cache, checks, device, disassembly, sandbox
from treesearch.evaluation.checks import Check, Checks
from treesearch.evaluation.walls import Walls, readable, toolchain
from treesearch.languages import Language
from treesearch.languages.mix import Mix
from treesearch.problem import libraries, memory
from treesearch.records import Build, Problem, digest

BUILD_SECONDS = 60.0
LEAST_FREE = 32 << 20
"""Bytes without which a compiler may fail for want of space. What it prints says nothing: a kernel can make it print
anything."""
LIMITS = sandbox.Limits(memory=8 << 30, file=256 << 20)
USUAL_MEMORY = 1 << 30
"""Bytes that a compiler takes at its peak: nvcc on a large kernel."""
TEMPORARY_BYTES = 1 << 30


@dataclass(frozen=True)
class Built:
    """A build and its shared object, which is None where the build failed; `error` then says why."""

    library: Path | None
    record: Build
    error: str = ""
    mixes: tuple[Mix, ...] = ()
    """What instructions its functions consist of, where there is a disassembler."""


def compiler(language: Language) -> str:
    """Path of the language's compiler, or a ToolchainError that says how to get it."""
    found = language.compiler()
    if found is None:
        raise ToolchainError(f"There is no compiler for {language.title}: {language.compiler_hint}.")
    return found


def build(
    problem: Problem, language: Language, source: str, architecture: str = "", without: Checks = checks.NONE
) -> Built:
    """Compile a kernel. Same source, header, command, compiler and target: the same artefact, built once.

    `architecture` is that of the device it is meant for, such as `sm_90a`; empty leaves it to the language. The
    compiler runs in the sandbox, for a source can make it read files and use up memory, time and disk space.
    Safe to call from several threads and processes at once.
    """
    tool = compiler(language)
    header = language.header(problem)
    # Names within the work folder: its own name is chance, and would find its way into __FILE__ and the log.
    command = language.command(tool, Path("kernel" + language.suffix), Path("kernel.so"), architecture)
    command += [f"-l{name}" for name in libraries.allowed(problem.source)]
    stat = os.stat(tool)
    around = _walls(tool, without)
    key = digest(source, header, *command, stat.st_size, stat.st_mtime_ns, language.target(), *sorted(around.without))
    home = cache.folder() / "builds" / key[:2] / key
    if (home / "log.txt").exists():
        return _cached(language, home, _printed(command))
    try:
        with cache.building():
            return _compile(language, command, header, source, home, around)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise MachineError(
                f"The disk that holds {cache.folder()} is full; free some space and run again."
            ) from error
        raise MachineError(f"Cannot build in {cache.folder()}: {error}.") from error


@contextmanager
def builders() -> Iterator[ThreadPoolExecutor]:
    """One thread a core to build in; an exception, Ctrl-C above all, does not wait for what they still do."""
    pool = ThreadPoolExecutor(device.cores(), thread_name_prefix="build")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def told(language: Language, built: Built) -> str:
    """Whether a source builds, by which command, and what the compiler and the disassembler say; bounded."""
    said = feedback.of_build(language, built.record.log, built.error, built.mixes)
    return f"{'It builds' if built.library else 'It does not build'}: {built.record.command}\n\n{said}"


def sweep() -> None:
    """Remove what builds left that were killed: no build lasts as long as these have been there."""
    for left in (cache.folder() / "builds").glob("*/build-*"):
        with suppress(OSError):  # another process sweeps as well
            if time.time() - left.stat().st_mtime > 60 * BUILD_SECONDS:
                shutil.rmtree(left)


def _printed(command: list[str]) -> str:
    """The command line without the places of this machine's files."""
    return " ".join(Path(word).name if word.startswith("/") else word for word in command)


def _failure(language: Language, log: str) -> str:
    return language.readable(log) or "the compiler failed without a word"


def _cached(language: Language, home: Path, command: str) -> Built:
    log = (home / "log.txt").read_text()
    library = home / "kernel.so"
    if library.exists():
        return Built(library, Build(command, 0.0, True, log), mixes=disassembly.mixes(language, library))
    return Built(None, Build(command, 0.0, True, log), _failure(language, log))


def _walls(tool: str, without: Checks) -> Walls:
    """What a compiler may reach: itself, and the folder that it works in, which is added there."""
    files = frozenset({Check.FILES, Check.SPACE, Check.MEMORY}) if Check.COMPILER in without else checks.NONE
    return Walls((*readable(), *toolchain(tool)), processes=True, temporary_bytes=TEMPORARY_BYTES, without=files)


def _compile(language: Language, command: list[str], header: str, source: str, home: Path, walls: Walls) -> Built:
    home.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="build-", dir=home.parent))
    try:
        (work / "problem.h").write_text(header)
        (work / f"kernel{language.suffix}").write_text(source, errors="replace")
        with _places():  # so many at once that the time limit is a build's own
            started = time.monotonic()
            around = replace(walls, writable=(str(work),))
            finished = sandbox.run(command, seconds=BUILD_SECONDS, limits=LIMITS, cwd=work, walls=around)
        log = finished.output.replace(f"{work}/", "")
        record = Build(_printed(command), time.monotonic() - started, False, log)
        if finished.timed_out:  # not cached: another time the machine may be less busy
            return Built(None, record, f"the build took longer than {BUILD_SECONDS:.0f} s and was stopped")
        if finished.code != 0 and shutil.disk_usage(home.parent).free < LEAST_FREE:
            raise OSError(errno.ENOSPC, "too little space to tell a failed build from a full disk")
        if finished.code != 0:
            (work / "kernel.so").unlink(missing_ok=True)
        (work / "log.txt").write_text(log)
        work.chmod(0o755)  # a worker may run as another user than the compiler
        _move(work, home)
        if finished.code != 0:
            return Built(None, record, _failure(language, log))
        return Built(home / "kernel.so", record, mixes=disassembly.mixes(language, home / "kernel.so"))
    finally:
        shutil.rmtree(work, ignore_errors=True)


@functools.cache
def _places() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(side_by_side(len(os.sched_getaffinity(0)), memory.available()))


def side_by_side(cores: int, free: int) -> int:
    """How many compilers may run at once: one a core, as long as their memory fits into half of the bytes free."""
    return max(1, min(cores, free // (2 * USUAL_MEMORY)))


def _move(work: Path, home: Path) -> None:
    """Put a finished build in its place; where another process was faster, its equal build stays."""
    try:
        work.rename(home)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
