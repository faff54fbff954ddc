"""CPU time of processes and their descendants."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from treesearch.evaluation import processes

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", sys.argv[1]])
print(child.pid, flush=True)
child.wait()
"""
SPIN = "while True: pass"
SLEEP = "import time; time.sleep(60)"


WORK = 50_000_000
"""Nanoseconds of CPU time, which one that spins has soon used however busy the machine is."""


def works(body: str, seconds: float) -> bool:
    """Whether the child of a child does that much within so long."""
    with subprocess.Popen([sys.executable, "-S", "-c", PARENT, body], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        grandchild = int(parent.stdout.readline())
        try:
            found = processes.family(parent.pid)
            assert found == (parent.pid, grandchild)
            time.sleep(0.5)  # both have started by then
            until, before = time.monotonic() + seconds, processes.cpu_nanoseconds(found)
            while processes.cpu_nanoseconds(found) - before < WORK:
                if time.monotonic() > until:
                    return False
                time.sleep(0.01)
            return True
        finally:
            parent.kill()
            os.kill(grandchild, 9)


def test_the_work_of_a_descendant_counts() -> None:
    assert works(SPIN, seconds=20)
    assert not works(SLEEP, seconds=0.3)


def test_a_descendant_in_a_session_of_its_own_is_stopped_and_goes_on() -> None:
    source = PARENT.replace("sys.argv[1]]", "sys.argv[1]], start_new_session=True")
    command = [sys.executable, "-S", "-c", source, SPIN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        assert parent.stdout is not None
        grandchild = int(parent.stdout.readline())
        try:
            os.killpg(parent.pid, signal.SIGSTOP)
            assert processes.stop_others(parent.pid) == {grandchild}
            wait_until(lambda: processes.stopped([parent.pid, grandchild]))
            processes.signal_each([grandchild], signal.SIGCONT)
            wait_until(lambda: not processes.stopped([grandchild]))
        finally:
            os.killpg(parent.pid, signal.SIGKILL)
            os.kill(grandchild, signal.SIGKILL)


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_process_that_is_gone_counts_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    assert processes.family(gone.pid) == (gone.pid,)
    assert processes.cpu_nanoseconds([gone.pid]) == 0


def test_a_name_that_is_no_text_hides_nothing_about_a_process() -> None:
    named = (
        "import ctypes, time; ctypes.CDLL(None).prctl(15, b'\\xff\\xfe) R 1 \\n'); print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", named], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert not processes.stopped([process.pid])
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        assert processes.stopped([process.pid])
        assert not processes.runnable([process.pid])
        process.kill()


def test_a_library_that_a_process_loads_is_among_its_code_and_a_file_that_it_maps_is_not(tmp_path: Path) -> None:
    mapped = tmp_path / "mapped"
    mapped.write_bytes(b"x")
    program = (
        "import ctypes, ctypes.util, mmap, sys, time\n"
        f"file = open({str(mapped)!r}, 'rb'); kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
        "print(flush=True); sys.stdin.readline()\n"
        "ctypes.CDLL('libresolv.so.2'); print(flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-S", "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        before = processes.code([process.pid])
        print(file=process.stdin, flush=True)
        process.stdout.readline()
        found = {Path(path).name for path in processes.code([process.pid]) - before}
        process.kill()
    assert str(mapped) not in before
    assert [name for name in found if name.startswith("libresolv")] == sorted(found)
    assert found
    assert processes.code([process.pid]) == frozenset(), "it is gone"


@pytest.mark.parametrize(
    ("act", "says"),
    [
        ("kept = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)", processes.NO_FILE),
        (
            "libc.mprotect(ctypes.c_void_p(page), 4096, 7); ctypes.c_char.from_address(page).value = b'x'",
            "written over",
        ),
    ],
)
def test_memory_of_no_file_and_code_that_is_no_longer_the_files_are_told(act: str, says: str) -> None:
    program = (
        "import ctypes, mmap, sys, time\n"
        "libc = ctypes.CDLL(None); page = ctypes.cast(libc.labs, ctypes.c_void_p).value & -4096\n"
        f"print(flush=True); sys.stdin.readline(); {act}; print(flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-S", "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        before = processes.code([process.pid])
        print(file=process.stdin, flush=True)
        process.stdout.readline()
        found = processes.code([process.pid]) - before
        process.kill()
    assert len(found) == 1
    assert next(iter(found)).endswith(says)
