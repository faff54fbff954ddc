"""What a child may reach."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from treesearch.evaluation.checks import NONE, Check, Checks
from treesearch.evaluation.inside import lockdown

EXTRA = "TREESEARCH_SANDBOX_READ"
"""Environment variable with further folders that children may read, separated by colons: a compiler in an unusual
place, for instance."""
SYSTEM = (
    "/usr /bin /sbin /lib /lib64 /lib32 /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/alternatives "
    "/etc/localtime /sys/devices/system /dev/null /dev/zero /dev/full /dev/random /dev/urandom"
).split()
"""What programs need of a system: no home folder, no configuration, nothing of what runs."""
GPU_SYSTEM = ("/sys", "/etc/nvidia", "/usr/share/nvidia")
GPU_DEVICES = "nvidia*"
LOCKDOWN = lockdown.__file__
"""What workers load in order to refuse system calls to a candidate."""
HARMLESS_DEVICES = ("/dev/null", "/dev/zero", "/dev/full")


@dataclass(frozen=True)
class Walls:
    """What a child may reach beside the descriptors that it is given. The network is never part of it."""

    readable: tuple[str, ...] = ()
    """Paths, beside what every program needs of the system."""
    writable: tuple[str, ...] = ()
    gpu: bool = False
    """Whether it uses the GPU."""
    processes: bool = False
    """Whether it may start processes once it is at work, as compilers do."""
    temporary_bytes: int = 16 << 20
    """What its private temporary folder holds, where it gets one."""
    copied: tuple[tuple[str, str], ...] = ()
    """Folders, and where the child finds a copy of each that it may write to. Where there is a mount namespace the
    copy is its own, bounded as its temporary folder is, and goes with it; elsewhere the place itself is writable."""
    without: Checks = NONE
    """Walls that are left out, for the audit."""

    def places(self) -> tuple[list[str], list[str], list[str]]:
        """What can be read, what can be written, and devices."""
        extra = [path for path in os.environ.get(EXTRA, "").split(":") if path]
        system = [*SYSTEM, *(GPU_SYSTEM if self.gpu else ())]
        devices = sorted(map(str, Path("/dev").glob(GPU_DEVICES))) if self.gpu else []
        present = [path for path in (*system, *extra, *self.readable) if os.path.exists(path)]
        return present, list(self.writable), [*HARMLESS_DEVICES, *devices]

    def kept(self) -> list[str]:
        """Names of the walls that stand."""
        switches = {"files": Check.FILES, "network": Check.NETWORK, "processes": Check.PROCESSES}
        return [name for name, check in switches.items() if check not in self.without]


def readable(*files: Path) -> tuple[str, ...]:
    """Paths for `Walls.readable`, with what this interpreter consists of."""
    return (*interpreter(), LOCKDOWN, *map(str, files))


def interpreter() -> tuple[str, ...]:
    """The standard library and the executable of the interpreter, without packages that were installed beside it."""
    base = Path(sys.base_prefix)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return (os.path.realpath(sys.executable), str(base / "lib"), str(base / sys.platlibdir / version))


def toolchain(compiler: str) -> tuple[str, ...]:
    """The folders that a compiler consists of: the tree above its `bin`, unless that is a home folder or everything."""
    found = []
    for path in {Path(compiler), Path(os.path.realpath(compiler))}:
        tree = path.parent.parent if path.parent.name == "bin" else path.parent
        private = tree in (Path("/"), Path.home(), Path.home().parent)
        found.append(str(path.parent if private else tree))
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return (*found, *homes)
