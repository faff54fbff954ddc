"""Child processes: started under limits in a group of their own, without our keys, killed as a group.

Children that run what a model wrote are started behind walls as well (`treesearch.evaluation.walls`), with what this
machine offers of them. The process that times the reference has none: a problem's Python is the user's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Protocol, Self

from treesearch.errors import MachineError
from treesearch.evaluation import leaving, processes
from treesearch.evaluation import walls as sandboxes
from treesearch.evaluation.checks import Check
from treesearch.evaluation.walls import Sandbox, Tier, Walls, cgroup

LOOK_SECONDS = 0.25
"""How often it is looked how much a command has written."""
MAX_REPLY_BYTES = 1 << 16
MAX_OUTPUT_BYTES = 1 << 16
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH")
"""Environment variables that children see; everything else, API keys above all, stays here."""
UNWALLED = Walls(without=frozenset({Check.FILES, Check.NETWORK, Check.PROCESSES}))


class ChildDied(Exception):
    """The child ended where an answer was due. `reason` says how it ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class DeadlinePassed(Exception):
    """The child did not answer within its time."""


@dataclass(frozen=True)
class Limits:
    """What a child may use, in bytes; 0 leaves it unlimited."""

    memory: int = 0
    """Of addresses: what is mapped, whether it is used or not."""
    data: int = 0
    """Of private memory that can be written, for processes such as CUDA's that reserve more addresses than there is
    memory; and of all memory in use, where there are control groups."""
    file: int = 0
    descriptors: int = 1024
    """Open files; without a limit of its own, a child may have as many as we."""

    def within(self, walls: Walls | None) -> Limits:
        """These, less those that an audit does without."""
        left_out = walls.without if walls else frozenset()
        memory = Check.MEMORY not in left_out
        file = 0 if Check.SPACE in left_out else self.file
        return Limits(self.memory if memory else 0, self.data if memory else 0, file, self.descriptors)


@dataclass(frozen=True)
class Finished:
    """A command that ran to its end, or into its deadline."""

    code: int
    output: str
    timed_out: bool
    seconds: float


def environment(extra: Mapping[str, str] | None = None, walls: Walls | None = None) -> dict[str, str]:
    everything = walls is not None and Check.ENVIRONMENT in walls.without
    kept = dict(os.environ) if everything else {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    home = "/tmp" if walls else tempfile.gettempdir()
    # Restartable sequences are a way to have code run on waking up; a worker is refused them.
    sequences = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"} if walls else {}
    return {**kept, "HOME": home, **sequences, **(extra or {})}


class _Confined:
    """A command with the limits and walls around it, and the control group that goes with them."""

    def __init__(self, command: Sequence[str], limits: Limits, walls: Walls | None, *, supervised: bool) -> None:
        """`supervised`: a process stays above the command and takes its whole group along when the controller dies."""
        kept = limits.within(walls)
        sandbox = sandboxes.available(walls.gpu) if walls else Sandbox(Tier.LIMITS)
        self.cgroup = cgroup.make(kept.memory or kept.data) if sandbox.cgroup else ""
        about = {"parent": os.getpid(), "supervised": supervised, "cgroup": self.cgroup}
        self.command = sandbox.command(command, walls or UNWALLED, asdict(kept), **about)


def run(
    command: Sequence[str],
    *,
    seconds: float,
    limits: Limits,
    cwd: Path,
    walls: Walls | None = None,
    variables: Mapping[str, str] | None = None,
    space: int = 0,
) -> Finished:
    """Run a command to its end and return its merged output; at the deadline its whole group is killed.

    `space`: bytes that may come to lie in the folders that its walls let it write to, before it is killed; 0 for as
    many as there is room for.
    """
    started = time.monotonic()
    confined = _Confined(command, limits, walls, supervised=True)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            confined.command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            env=environment({"TMPDIR": "/tmp" if _private(walls) else str(cwd), **(variables or {})}, walls),
            start_new_session=True,
        )
        said = ""
        try:
            timed_out = not _ends(process, seconds, walls.writable if walls and space else (), space)
        except _TooMuch:
            timed_out, said = False, f"\nit wrote more than {space >> 20} MiB and was stopped"
        finally:
            kill_group(process)
            cgroup.remove(confined.cgroup)
        text = head_and_tail(output.fileno()) + said
    return Finished(process.returncode, text, timed_out, time.monotonic() - started)


class _TooMuch(Exception):
    """A command has written more than it may."""


def _ends(process: subprocess.Popen[bytes], seconds: float, folders: Sequence[str], space: int) -> bool:
    """Wait for a command; whether it ended in time. Raises _TooMuch once more than `space` bytes lie in `folders`."""
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        try:
            process.wait(timeout=min(left, LOOK_SECONDS) if folders else left)
            return True
        except subprocess.TimeoutExpired:
            if time.monotonic() >= deadline:
                return False
        if sum(map(_disk_use, folders)) > space:
            raise _TooMuch


def _disk_use(folder: str) -> int:
    """Bytes on disk of the files in a folder that is being written to."""
    size, due = 0, [folder]
    while due:
        with contextlib.suppress(OSError), os.scandir(due.pop()) as found:  # things come and go
            for entry in found:
                size += 512 * entry.stat(follow_symlinks=False).st_blocks
                if entry.is_dir(follow_symlinks=False):
                    due.append(entry.path)
    return size


def _private(walls: Walls | None) -> bool:
    """Whether a child has a /tmp of its own."""
    isolated = walls is not None and Check.FILES not in walls.without
    return walls is not None and isolated and "mount" in sandboxes.available(walls.gpu).namespaces


class Process(Protocol):
    """What is looked at of a child's process: a Popen's, or one that was forked elsewhere."""

    stdin: IO[bytes] | None

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


class Child:
    """A child that answers JSON lines. Its standard output and error are kept apart from its replies."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        limits: Limits = Limits(),
        descriptors: Sequence[int] = (),
        variables: Mapping[str, str] | None = None,
        walls: Walls | None = None,
    ) -> None:
        """`command` gets the number of the descriptor to reply on as its last argument."""
        self._reader, writer = os.pipe()
        self._received = b""
        self._cgroup = ""
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the child)
        self._starts_others = walls is not None and walls.processes
        self._others: frozenset[int] = frozenset()
        """What it has started and is in a group of its own, as it was when all were stopped."""
        self.stopped_at = 0.0
        """When it was told to stop (`time.perf_counter`), the last time."""
        try:
            self.process = self._start([*command, str(writer)], [writer, *descriptors], limits, walls, variables)
        except OSError as error:
            raise MachineError(f"Cannot start a child process: {error}.") from error
        finally:
            os.close(writer)

    def _start(
        self,
        command: Sequence[str],
        descriptors: Sequence[int],
        limits: Limits,
        walls: Walls | None,
        variables: Mapping[str, str] | None,
    ) -> Process:
        confined = _Confined(command, limits, walls, supervised=False)
        self._cgroup = confined.cgroup
        return subprocess.Popen(
            confined.command,
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            cwd="/",
            env=environment(variables, walls),
            pass_fds=descriptors,
            start_new_session=True,
        )

    def _kill(self) -> None:
        kill_group(self.process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, message: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send one line and wait for the answer.

        Raises ChildDied or DeadlinePassed; the child is gone in both cases. What the child sends is data from
        an untrusted process: a line that is no JSON object, or that nobody asked for, counts as its death.
        """
        self.refuse_unasked()
        self.send(message)
        return self.receive(seconds)

    def refuse_unasked(self) -> None:
        """Raise ChildDied where something was sent that nobody asked for, which would pass for the next answer."""
        if self._reader < 0:
            raise ChildDied("it is already gone")
        if self._received or self._sent_within(0.0):
            self._take_unasked()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one line whose answer is received later. A child that is gone shows then."""
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:  # the pipe's reader is gone
            return

    def receive(self, seconds: float) -> dict[str, Any]:
        line = self._line(time.monotonic() + seconds)
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):  # the latter where brackets nest by the thousand
            reply = None
        if not isinstance(reply, dict):
            self.close()
            raise ChildDied("it sent something that is not a reply")
        return reply

    @contextmanager
    def awake(self) -> Iterator[None]:
        """The child and all that it started run inside the block, and are stopped after it, whatever threads are at."""
        self._signal(signal.SIGCONT)
        try:
            yield
        finally:
            self._signal(signal.SIGSTOP)
            self.stopped_at = time.perf_counter()
            if self._starts_others:
                self._others = processes.stop_others(self.process.pid)

    def _signal(self, number: int) -> None:
        """To its group, and to what left it. Whatever else it starts is looked for when nobody takes the time: that
        takes the longer the more threads it has."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
        processes.signal_each(self._others, number)

    def output(self) -> str:
        """What the child printed, head and tail."""
        return head_and_tail(self._output.fileno())

    def close(self) -> None:
        """Kill the child's whole group and release everything; harmless when repeated."""
        self._kill()
        cgroup.remove(self._cgroup)
        self._cgroup = ""
        if self._reader >= 0:
            os.close(self._reader)
            self._reader = -1
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        self._output.close()

    def _take_unasked(self) -> None:
        """An end of file is the child's death, to be reported as such; anything else would pass for the next reply."""
        if not self._received and not os.read(self._reader, 1):
            raise ChildDied(self._last_words())
        self.close()
        raise ChildDied("it sent a reply that nobody asked for")

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self._received:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not self._sent_within(remaining):
                self.close()
                raise DeadlinePassed
            chunk = os.read(self._reader, 4096)
            if not chunk or len(self._received) > MAX_REPLY_BYTES:
                raise ChildDied(self._last_words())
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _sent_within(self, seconds: float) -> bool:
        """Whether there is something to read. The descriptor may be beyond what select() takes, which is 1023."""
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        return bool(poll.poll(1e3 * seconds))

    def _last_words(self) -> str:
        """How the child ended, with the last line that it printed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
        code = self.process.poll()
        printed = self.output().strip().splitlines()
        self.close()
        said = f": {printed[-1][:300]}" if printed else ""
        if code is None:
            return f"it stopped answering{said}"
        if code < 0:
            return f"{signal_name(-code)}{said}"
        return f"it exited with code {code} before answering{said}"


def signal_name(number: int) -> str:
    """SIGSEGV and the like; real-time signals have no names of their own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def kill_group(process: Process) -> None:
    """Kill a process that leads its own group, with everything in the group, and reap it.

    What it started may take a while to be gone; `leaving.settle` waits for that.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        _, *below = processes.family(process.pid)
        leaving.watch(below)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def head_and_tail(descriptor: int) -> str:
    """Text of an open file, with the middle left out where it is long."""
    size = os.fstat(descriptor).st_size
    half = MAX_OUTPUT_BYTES // 2
    if size <= 2 * half:
        return os.pread(descriptor, size, 0).decode(errors="replace")
    head, tail = os.pread(descriptor, half, 0), os.pread(descriptor, half, size - half)
    left_out = f"\n… {size - 2 * half} bytes left out …\n"
    return head.decode(errors="replace") + left_out + tail.decode(errors="replace")
