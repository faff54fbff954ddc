"""Where a module's compiled extensions lie, and what the processes that import it may reach."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treesearch.evaluation.checks import NONE, Checks
from treesearch.evaluation.walls import Walls, toolchain
from treesearch.languages import CPP, CUDA

SOURCE = "kernel.py"
WORK = "work"
"""Folder beside the source that the module's compilers write to. It has one place for good: ninja builds again what
was built somewhere else."""
PRISTINE = "pristine"
"""What `WORK` held when the build was done."""
TEMPORARY_BYTES = 2 << 30
MOST_ENTRIES, MOST_BYTES, MOST_DEPTH = 20_000, 1 << 30, 64
"""What a build may leave."""


def variables(architecture: str) -> dict[str, str]:
    """Environment of builds and workers, equal in both: a difference would have extensions built again."""
    found = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",  # ninja may lie beside Python
        "MAX_JOBS": str(len(os.sched_getaffinity(0))),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # more would be a pool of processes, slow to start
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",  # larger than a file may be
    }
    if matched := re.fullmatch(r"sm_(\d+)(\d[af]?)", architecture):
        found["TORCH_CUDA_ARCH_LIST"] = f"{matched[1]}.{matched[2]}"
        nvcc = CUDA.compiler()
        if nvcc and "CUDA_HOME" not in os.environ:
            found["CUDA_HOME"] = str(Path(nvcc).parent.parent)
    return found


def caches(home: Path) -> dict[str, str]:
    """Environment that has torch and Triton keep what they compile with the module itself."""
    work = home / WORK
    return {
        "TORCH_EXTENSIONS_DIR": str(work / "extensions"),
        "TRITON_CACHE_DIR": str(work / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(work / "inductor"),
    }


def walls(home: Path, *, gpu: bool, judged: bool = False, without: Checks = NONE) -> Walls:
    """What a module's process may reach: Python with its packages, compilers, and the folder for what they make.

    A process that is `judged` gets a copy of that folder, as the build left it.
    """
    compilers = [tool for language in (CPP, CUDA) if (tool := language.compiler())]
    tools = [place for compiler in compilers for place in toolchain(compiler)]
    packages = [sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])]
    return Walls(
        readable=(*packages, *tools, str(home)),
        writable=() if judged else (str(home / WORK),),
        copied=((str(home / PRISTINE), str(home / WORK)),) if judged else (),
        gpu=gpu,
        processes=True,
        temporary_bytes=TEMPORARY_BYTES,
        without=without,
    )


class Untidy(Exception):
    """A build left what cannot be kept; the text says what."""


def keep(home: Path) -> None:
    """Note what the build left, once it is done. Raises Untidy for what is no ordinary file, or too much."""
    remove(home / PRISTINE)
    _copy(home / WORK, home / PRISTINE)


def restore(source: Path) -> None:
    """Before a judgement: the folder as the build left it, whatever earlier judgements wrote there."""
    home = source.parent
    with alone(home):
        remove(home / WORK)
        _copy(home / PRISTINE, home / WORK)


def remove(folder: Path) -> None:
    """Delete a folder that a module has written to: it may be deeper than Python can go."""
    subprocess.run(["rm", "-rf", "--", str(folder)], check=False, stderr=subprocess.DEVNULL)


def _copy(source: Path, target: Path) -> None:
    """With the times of files, which ninja compares, and with their owner, who may be another user in the sandbox."""
    entries = size = 0
    due = [(source, target, 0)]
    while due:
        here, there, depth = due.pop()
        if depth > MOST_DEPTH:
            raise Untidy(f"it left folders more than {MOST_DEPTH} deep")
        there.mkdir()
        with os.scandir(here) as found:
            for entry in found:
                status = entry.stat(follow_symlinks=False)
                entries, size = entries + 1, size + status.st_size
                if entries > MOST_ENTRIES or size > MOST_BYTES:
                    raise Untidy(f"it left more than {MOST_ENTRIES} files or {MOST_BYTES >> 20} MiB")
                if entry.is_dir(follow_symlinks=False):
                    due.append((here / entry.name, there / entry.name, depth + 1))
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    shutil.copy2(entry.path, there / entry.name, follow_symlinks=False)
                else:
                    raise Untidy(f"it left {entry.name!a}, which is no ordinary file")
                if os.geteuid() == 0 and not entry.is_dir(follow_symlinks=False):
                    os.chown(there / entry.name, status.st_uid, status.st_gid, follow_symlinks=False)
        if os.geteuid() == 0:
            status = here.stat()
            os.chown(there, status.st_uid, status.st_gid)


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Held by one process, and one thread of it, that changes a module's folder."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(home.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
