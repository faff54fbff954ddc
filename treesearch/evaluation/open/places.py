"""Where a module's compiled extensions lie, and what the processes that import it may reach."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
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


def variables(architecture: str) -> dict[str, str]:
    """Environment of builds and workers, equal in both: a difference would have extensions built again."""
    found = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",  # ninja may lie beside Python
        "MAX_JOBS": str(len(os.sched_getaffinity(0))),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # more would be a pool of processes, slow to start
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


def walls(home: Path, *, gpu: bool, without: Checks = NONE) -> Walls:
    """What a process that imports a module may reach: Python with its packages, compilers, and the module's folder."""
    compilers = [compiler for compiler in (CPP.compiler(), CUDA.compiler()) if compiler]
    tools = [place for compiler in compilers for place in toolchain(compiler)]
    packages = [sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])]
    return Walls(
        readable=(*packages, *tools, str(home)),
        writable=(str(home / WORK),),
        gpu=gpu,
        processes=True,
        temporary_bytes=TEMPORARY_BYTES,
        without=without,
    )


def keep(home: Path) -> None:
    """Note what the build left, once it is done."""
    shutil.rmtree(home / PRISTINE, ignore_errors=True)
    _copy(home / WORK, home / PRISTINE)


def restore(source: Path) -> None:
    """Before a judgement: the folder as the build left it, whatever earlier judgements wrote there."""
    home = source.parent
    with alone(home):
        shutil.rmtree(home / WORK, ignore_errors=True)
        _copy(home / PRISTINE, home / WORK)


def _copy(source: Path, target: Path) -> None:
    """With the times of files, which ninja compares, and with their owner, who may be another user in the sandbox."""
    shutil.copytree(source, target, symlinks=True)
    if os.geteuid() == 0:
        for path in (source, *source.rglob("*")):
            status = path.lstat()
            os.chown(target / path.relative_to(source), status.st_uid, status.st_gid, follow_symlinks=False)


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Held by one process, and one thread of it, that changes a module's folder."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(home.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
