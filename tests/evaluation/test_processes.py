"""CPU time of processes and their descendants."""

from __future__ import annotations

import os
import subprocess
import sys
import time

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


def test_a_process_that_is_gone_counts_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    assert processes.family(gone.pid) == (gone.pid,)
    assert processes.cpu_nanoseconds([gone.pid]) == 0
