"""Which walls this machine offers, tried once and not assumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from treesearch.errors import MachineError, UsageError
from treesearch.evaluation.checks import Check
from treesearch.evaluation.inside import landlock, lockdown, seccomp, system
from treesearch.evaluation.walls import cgroup
from treesearch.evaluation.walls.walls import Walls, readable

CONFINE = Path(__file__).parents[1] / "inside" / "confine.py"
NOBODY = 65534
PROBE_SECONDS = 20.0
MOST_TASKS = 1024 + 64 * (os.cpu_count() or 1)
"""Processes and threads of all children together."""
CHOICE = "TREESEARCH_SANDBOX"
"""Environment variable that names the strongest tier to use: `namespaces`, `landlock` or `limits`."""


class Tier(StrEnum):
    """How strong a sandbox is, strongest first."""

    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    LIMITS = "limits"


@dataclass(frozen=True)
class Sandbox:
    """The walls that this machine puts around children."""

    tier: Tier
    namespaces: tuple[str, ...] = ()
    landlock: int = 0
    """Version of Landlock; 0 without."""
    seccomp: bool = False
    user: int | None = None
    """User id that children get, where that is not the caller's."""
    cgroup: bool = False

    @property
    def description(self) -> str:
        """One line for the record of an evaluation, such as `namespaces (mount, pid, …), landlock 7, seccomp`."""
        parts = [f"namespaces ({', '.join(self.namespaces)})"] if self.namespaces else []
        parts += [f"landlock {self.landlock}"] if self.landlock else []
        parts += ["seccomp"] if self.seccomp else []
        parts += [f"user {self.user}"] if self.user is not None else []
        parts += ["cgroup (memory, tasks)"] if self.cgroup else []
        return ", ".join([*parts, "limits"])

    @property
    def warning(self) -> str:
        """What a user must know who relies on it, or nothing."""
        if self.tier is Tier.NAMESPACES:
            return ""
        if self.tier is Tier.LANDLOCK:
            return "kernels run without namespaces of their own: they see the processes of this machine"
        return (
            "THIS MACHINE OFFERS NO SANDBOX: kernels can read and write your files, use the network and signal your "
            "processes. Judge only kernels that you trust, or use a machine with user namespaces or Landlock"
        )

    def offers(self, check: Check) -> bool:
        """Whether it puts up the wall of that name, one of files, network, processes."""
        if check is Check.NETWORK:
            return "network" in self.namespaces or self.seccomp
        if check is Check.FILES:
            return "mount" in self.namespaces or self.landlock > 0
        return check is not Check.PROCESSES or self.seccomp

    def command(self, command: Sequence[str], walls: Walls, limits: dict[str, int], **more: Any) -> list[str]:
        """The command that puts up `walls` within `limits` and becomes `command`."""
        kept = walls.kept()
        able, writable, devices = walls.places()
        isolated = [name for name in self.namespaces if name not in _left_out(walls)]
        settings = {
            "namespaces": isolated,
            "landlock": bool(self.landlock),
            "seccomp": self.seccomp,
            "user": self.user if "files" in kept else None,
            "walls": kept,
            "readable": able,
            "writable": [*writable, *([] if "mount" in isolated else [place for _, place in walls.copied])],
            "copied": [list(pair) for pair in walls.copied] if "mount" in isolated else [],
            "devices": devices,
            "tasks": MOST_TASKS if self.user is not None or "user" in isolated else 0,  # else others' would count
            "temporary": 0 if Check.SPACE in walls.without else walls.temporary_bytes,
            **limits,
            **more,
        }
        return [sys.executable, "-I", "-S", str(CONFINE), json.dumps(settings), *command]

    def lockdown(self, walls: Walls, *, code_is_known: bool = False) -> dict[str, Any] | None:
        """What a worker needs in order to refuse system calls to what it loads: `program` from before it is loaded and,
        where all code is known that is to come into its process, `loaded` from then on. None without seccomp."""
        if not self.seccomp:
            return None
        kept = walls.kept()
        scoped = "pid" in self.namespaces or self.landlock >= 6
        alone = "processes" in kept and not walls.processes
        about = {"network": "network" in kept, "processes": alone, "signals": alone and not scoped}
        programs = {"program": seccomp.for_kernel(**about, code_is_known=code_is_known)}
        if code_is_known:
            programs["loaded"] = seccomp.once_loaded()
        written = {name: seccomp.program(rules).hex() for name, rules in programs.items()}
        return {"module": lockdown.__file__, "call": system.known()["seccomp"], **written}


def _left_out(walls: Walls) -> set[str]:
    """Namespaces that an audit does without."""
    given = {Check.FILES: "mount", Check.NETWORK: "network", Check.PROCESSES: "pid"}
    return {name for check, name in given.items() if check in walls.without}


def available(gpu: bool = False) -> Sandbox:
    """The strongest sandbox that works here, with what the user allows. `gpu`: for children that use it.

    Raises UsageError for a tier that does not exist, MachineError where not even limits can be set.
    """
    named = os.environ.get(CHOICE, "")
    try:
        strongest = Tier(named) if named else Tier.NAMESPACES
    except ValueError:
        raise UsageError(f"{CHOICE} is {named!r}; it can be {', '.join(Tier)}.") from None
    return _available(strongest, gpu)


@cache
def _available(strongest: Tier, gpu: bool) -> Sandbox:
    order = list(Tier)
    for candidate in _candidates():
        if order.index(candidate.tier) >= order.index(strongest) and not _trouble(candidate, gpu):
            return replace(candidate, cgroup=cgroup.parent() is not None)
    raise MachineError(f"Cannot start a process under limits: {_trouble(Sandbox(Tier.LIMITS), gpu)}")


def _candidates() -> list[Sandbox]:
    """What may work, strongest first."""
    lock, root = landlock.version(), os.getuid() == 0
    filters = (True, False) if system.known() else (False,)
    alone = ("mount", "pid", "network", "ipc", "uts")
    spaces = [(alone, NOBODY), (("user", *alone), None)] if root else [(("user", *alone), None)]
    found = [Sandbox(Tier.NAMESPACES, names, lock, on, user) for on in filters for names, user in spaces]
    users = (NOBODY, None) if root else (None,)
    found += [Sandbox(Tier.LANDLOCK, (), lock, on, user) for on in filters for user in users if lock or on]
    return [*found, Sandbox(Tier.LIMITS)]


PROBE = "import ctypes, json, os, sys; libc = ctypes.CDLL(None)"
GPU_PROBE = """
cuda = ctypes.CDLL("libcuda.so.1")
made = ctypes.c_void_p()
sys.exit(cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(made), 0))
"""


def _trouble(sandbox: Sandbox, gpu: bool) -> str:
    """Why a child does not run behind such walls, or nothing."""
    text = f"{PROBE}\n{GPU_PROBE}" if gpu else PROBE
    walls = Walls(readable(), gpu=gpu)
    program = [os.path.realpath(sys.executable), "-I", "-S", "-c", text]
    none = {"memory": 0, "data": 0, "file": 0, "descriptors": 0}
    command = sandbox.command(program, walls, none, parent=0, supervised=False, cgroup="")
    try:
        asked = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
            cwd="/",
            start_new_session=True,  # what ends with us takes its group along, which must not be ours
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if asked.returncode == 0 else asked.stderr.strip()[-500:] or f"exit code {asked.returncode}"
