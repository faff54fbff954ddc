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


def used(body: str) -> float:
    """Share of a core that the child of a child uses."""
    with subprocess.Popen([sys.executable, "-S", "-c", PARENT, body], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        grandchild = int(parent.stdout.readline())
        try:
            found = processes.family(parent.pid)
            assert found == (parent.pid, grandchild)
            time.sleep(0.5)  # both have started by then
            started, before = time.perf_counter_ns(), processes.cpu_nanoseconds(found)
            time.sleep(0.2)
            return (processes.cpu_nanoseconds(found) - before) / (time.perf_counter_ns() - started)
        finally:
            parent.kill()
            os.kill(grandchild, 9)


def test_the_work_of_a_descendant_counts() -> None:
    assert used(SPIN) > 0.1
    assert used(SLEEP) < 0.1


def test_a_process_that_is_gone_counts_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    assert processes.family(gone.pid) == (gone.pid,)
    assert processes.cpu_nanoseconds([gone.pid]) == 0
