"""From a module's text to a folder in which everything that it compiles on import is compiled, once per content."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import torch

from treesearch.errors import MachineError
from treesearch.evaluation import cache, checks, sandbox
from treesearch.evaluation.build import Built, compiler
from treesearch.evaluation.checks import Check, Checks
from treesearch.evaluation.open import places
from treesearch.languages import Language
from treesearch.records import Build, Problem, digest

BUILD_SECONDS = 300.0
LEAST_FREE = 64 << 20
"""Bytes without which a compiler may fail for want of space."""
LIMITS = sandbox.Limits(memory=12 << 30, file=512 << 20)
CUDA_LIMITS = sandbox.Limits(data=12 << 30, file=512 << 20)
"""CUDA reserves more addresses than any limit on them allows."""


def build(
    problem: Problem, language: Language, source: str, architecture: str = "", without: Checks = checks.NONE
) -> Built:
    """Import a module once, constructing nothing, and keep what that compiles. `library` is then its file.

    `architecture` is that of the GPU that it is meant for, such as `sm_90a`; empty for a CPU. The problem has no part
    in it: a module is given its sizes when it is constructed. Safe to call from several threads and processes at once.
    """
    tool = compiler(language)
    command = language.command(tool, Path(places.SOURCE), Path(), architecture)
    variables = places.variables(architecture)
    walls = frozenset({Check.FILES, Check.SPACE, Check.MEMORY}) if Check.COMPILER in without else checks.NONE
    key = digest(source, *command, *variables.values(), torch.__version__, language.target(), *sorted(walls))
    home = cache.folder() / "builds" / key[:2] / key
    try:
        with _places(), places.alone(home):
            if (home / "log.txt").exists():
                return _cached(language, home, _printed(command))
            with cache.building():
                return _import(language, command, variables, source, home, walls)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise MachineError(
                f"The disk that holds {cache.folder()} is full; free some space and run again."
            ) from error
        raise MachineError(f"Cannot build in {cache.folder()}: {error}.") from error


def _import(
    language: Language, command: list[str], variables: dict[str, str], source: str, home: Path, without: Checks
) -> Built:
    places.remove(home)  # of a build that was killed
    (home / places.WORK).mkdir(parents=True)
    file = home / places.SOURCE
    file.write_text(source, errors="replace")
    gpu = "TORCH_CUDA_ARCH_LIST" in variables
    started = time.monotonic()
    finished = sandbox.run(
        command,
        seconds=BUILD_SECONDS,
        limits=CUDA_LIMITS if gpu else LIMITS,
        cwd=home,
        variables={**variables, **places.caches(home)},
        walls=places.walls(home, gpu=gpu, without=without),
        space=places.MOST_BYTES,
    )
    log = finished.output.replace(f"{home}/", "")
    record = Build(_printed(command), time.monotonic() - started, False, log)
    if finished.timed_out:  # not cached: another time the machine may be less busy
        return Built(None, record, f"importing it took longer than {BUILD_SECONDS:.0f} s and was stopped")
    if finished.code != 0 and shutil.disk_usage(home).free < LEAST_FREE:
        raise OSError(errno.ENOSPC, "too little space to tell a failed build from a full disk")
    if finished.code != 0:
        return _refused(file, log, record, _failure(language, log))
    file.write_text(source, errors="replace")  # whatever the module did to its own file
    try:
        places.keep(home)
    except places.Untidy as reason:
        log = f"{log}\n{reason}".strip()
        return _refused(file, log, replace(record, log=log), _failure(language, log))
    (home / "log.txt").write_text(log)
    return Built(file, record)


def _refused(file: Path, log: str, record: Build, error: str) -> Built:
    """Of a build that failed nothing is kept but what was said."""
    file.unlink(missing_ok=True)
    for folder in (places.WORK, places.PRISTINE):
        places.remove(file.parent / folder)
    (file.parent / "log.txt").write_text(log)
    return Built(None, record, error)


def _cached(language: Language, home: Path, command: str) -> Built:
    record = Build(command, 0.0, True, (home / "log.txt").read_text())
    file = home / places.SOURCE
    return Built(file, record) if file.exists() else Built(None, record, _failure(language, record.log))


def _printed(command: list[str]) -> str:
    """The command line without the places of this machine's files."""
    return " ".join(Path(word).name if word.startswith("/") else word for word in command)


def _failure(language: Language, log: str) -> str:
    return language.readable(log) or "importing it failed without a word"


@functools.cache
def _places() -> threading.BoundedSemaphore:
    """As many imports at once as there are cores for them: each may start compilers of its own."""
    return threading.BoundedSemaphore(max(1, len(os.sched_getaffinity(0)) // 2))
