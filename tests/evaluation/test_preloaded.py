"""Children forked from a process that has torch: each with a session, descriptors and an end of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from treesearch.evaluation import forkserver
from treesearch.evaluation.baselines import PRELOADED
from treesearch.evaluation.preloaded import Preloaded
from treesearch.evaluation.sandbox import Child, ChildDied, environment

ROOT = Path(__file__).parents[2]
ECHO = """
import json, os, sys, threading

def seen():
    opened = sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}"))
    return {
        "arguments": sys.argv[:-1],
        "opened": opened,
        "environment": dict(os.environ),
        "session": os.getsid(0) == os.getpid(),
        "server": os.getppid(),
        "threads": len(os.listdir("/proc/self/task")),
        "torch": "torch" in sys.modules,
        "cuda": "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized(),
    }

def main():
    replies = os.fdopen(int(sys.argv[-1]), "w", buffering=1)
    for line in sys.stdin:
        asked = json.loads(line)
        if "exit" in asked:
            print("last words", flush=True)
            os._exit(asked["exit"])
        if "raise" in asked:
            raise ValueError(asked["raise"])
        if "sum" in asked:
            import torch
            replies.write(json.dumps({"sum": float(torch.tensor(asked["sum"], device="cuda").sum())}) + "\\n")
        elif "read" in asked:
            replies.write(json.dumps({"text": os.pread(asked["read"], 100, 0).decode()}) + "\\n")
        else:
            replies.write(json.dumps(seen()) + "\\n")
"""
"""A program that tells what its process is like, or ends as it is asked to."""

Start = Callable[..., Preloaded]


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory, tests_cache: Path) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("programs")
    (folder / "echo.py").write_text(ECHO)
    caches = {"PYTHONPATH": f"{ROOT}:{folder}", "TORCHINDUCTOR_CACHE_DIR": str(tests_cache / "inductor")}
    return {**caches, "OMP_NUM_THREADS": "2", "GOMP_SPINCOUNT": "7"}


@pytest.fixture
def start(variables: dict[str, str]) -> Iterator[Start]:
    children: list[Preloaded] = []

    def started(*descriptors: int, **more: str) -> Preloaded:
        children.append(Preloaded("echo", (), descriptors=descriptors, variables={**variables, **more}))
        return children[-1]

    yield started
    for child in children:
        child.close()


def seen(child: Child) -> dict[str, Any]:
    return child.ask({}, 120)


def comes_true(condition: Callable[[], bool]) -> bool:
    """Whether it does, given a moment for signals to arrive."""
    deadline = time.monotonic() + 20
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return met


def gone(pid: int) -> bool:
    """Whether a process has ended, reaped or not."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


# ── what a child is ─────────────────────────────────────────────────────────────────────────────


def test_a_child_has_torch_without_its_threads_and_without_cuda(variables: dict[str, str]) -> None:
    with Preloaded("echo", PRELOADED, descriptors=(), variables=variables) as child:
        told = seen(child)
    assert (told["torch"], told["threads"], told["cuda"]) == (True, 1, False)


@pytest.mark.gpu
def test_a_child_with_torch_may_use_a_gpu(variables: dict[str, str]) -> None:
    from treesearch.evaluation.cuda import device as gpu

    with Preloaded("echo", PRELOADED, descriptors=(), variables={**variables, **gpu.with_torch()}) as child:
        assert seen(child)["torch"], "or it has started over"
        assert child.ask({"sum": [1.0, 2.5]}, 120) == {"sum": 3.5}


def test_a_child_starts_over_where_an_import_has_used_cuda(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "looks.py").write_text("import torch\ntorch.cuda._is_in_bad_fork = lambda: True\n")
    (tmp_path / "text").write_text("what it is to read")
    path = {"PYTHONPATH": f"{variables['PYTHONPATH']}:{tmp_path}"}
    with (tmp_path / "text").open() as file:
        given = file.fileno()
        with Preloaded("echo", ["looks"], descriptors=[given], variables={**variables, **path}) as child:
            told = seen(child)
            assert child.ask({"read": given}, 120)["text"] == "what it is to read"
    assert not told["torch"]
    assert told["session"]
    assert len(told["opened"]) == 5, "standard ones, that for replies, and that given"


def test_a_child_has_nothing_of_the_servers_nor_of_another_childs(
    start: Start, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    first, second = start(), start()
    told = [seen(first), seen(second)]
    assert told[0]["server"] == told[1]["server"] != os.getpid(), "one import serves both"
    for child in told:
        assert child["session"]
        assert child["threads"] == 1
        assert child["arguments"] == ["echo"]
        assert child["environment"] == environment(variables)
        assert len(child["opened"]) == 4, "standard ones, and that for replies"


def test_descriptors_have_the_numbers_that_the_controller_knows_them_by(start: Start, tmp_path: Path) -> None:
    opened = []
    for number in range(300):  # more than one datagram carries
        (tmp_path / "text").write_text(f"text {number}")
        opened.append(os.open(tmp_path / "text", os.O_RDONLY))
        (tmp_path / "text").unlink()
    child = start(*opened)
    for place in (0, 100, 299):
        assert child.ask({"read": opened[place]}, 120) == {"text": f"text {place}"}
    assert len(seen(child)["opened"]) == 304
    for descriptor in opened:
        os.close(descriptor)


@pytest.mark.parametrize("order", [*permutations(range(3)), (2, 3, 4), (3, 1, 5)])
def test_new_numbers_may_be_those_of_other_descriptors(tmp_path: Path, order: tuple[int, ...]) -> None:
    opened = [os.open(tmp_path / str(name), os.O_CREAT | os.O_RDWR) for name in range(3)]
    free = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    for descriptor in free:
        os.close(descriptor)
    numbers = [[*opened, *free][place] for place in order]
    inodes = [os.fstat(descriptor).st_ino for descriptor in opened]
    forkserver.place(opened, numbers)
    try:
        assert [os.fstat(number).st_ino for number in numbers] == inodes
        assert all(os.get_inheritable(number) for number in numbers)
        for left in {*opened} - {*numbers}:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(left)
    finally:
        for number in numbers:
            os.close(number)


def test_each_environment_has_a_server_of_its_own(start: Start) -> None:
    here = seen(start())["server"]
    assert seen(start())["server"] == here
    other = start(OMP_NUM_THREADS="1")
    told = seen(other)
    assert told["server"] != here
    assert told["environment"]["OMP_NUM_THREADS"] == "1"


# ── how it ends ─────────────────────────────────────────────────────────────────────────────────


def test_how_a_child_ends_is_told_and_the_next_one_runs(start: Start) -> None:
    child = start()
    with pytest.raises(ChildDied, match="exited with code 3 before answering: last words"):
        child.ask({"exit": 3}, 120)
    child = start()
    with pytest.raises(ChildDied, match="exited with code 1 before answering: ValueError: not today"):
        child.ask({"raise": "not today"}, 120)
    child = start()
    seen(child)
    os.kill(child.process.pid, signal.SIGSEGV)
    with pytest.raises(ChildDied, match="SIGSEGV"):
        child.receive(120)
    assert seen(start())["session"]


def test_a_closed_child_is_gone_with_what_it_started(start: Start) -> None:
    child = start()
    seen(child)
    pid = child.process.pid
    child.close()
    assert child.process.poll() == -signal.SIGKILL
    assert comes_true(lambda: gone(pid))
    child.close()


def test_one_that_is_closed_before_its_turn_is_gone_as_well(start: Start) -> None:
    server = seen(start())["server"]
    os.kill(server, signal.SIGSTOP)
    try:
        late = start()
        late.close()
    finally:
        os.kill(server, signal.SIGCONT)
    assert late.process.poll() == -signal.SIGKILL
    assert seen(start())["server"] == server
    assert comes_true(lambda: len(children_of(server)) == 2)


def test_children_die_with_their_server_and_a_new_one_takes_its_place(start: Start) -> None:
    child = start()
    server = seen(child)["server"]
    os.kill(server, signal.SIGKILL)
    with pytest.raises(ChildDied, match="SIGKILL"):
        child.receive(120)
    assert comes_true(lambda: gone(child.process.pid))
    assert seen(start())["server"] != server


CONTROLLER = """
import os, sys, threading
from treesearch.evaluation.preloaded import Preloaded
def start():
    child = Preloaded("echo", (), descriptors=(), variables=VARIABLES)
    print(child.process.pid, child.ask({}, 120)["server"], flush=True)
    return child
if sys.argv[1] == "thread":
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
else:
    child = start()
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["killed", "thread"])
def test_nothing_outlives_a_controller_that_is_killed_or_the_thread_that_started_it(
    variables: dict[str, str], how: str
) -> None:
    program = CONTROLLER.replace("VARIABLES", repr(variables))
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program, how], stdin=pipe, stdout=pipe, text=True) as controller:
        assert controller.stdout is not None
        pids = [int(word) for word in controller.stdout.readline().split()]
        assert len(pids) == 2
        if how == "killed":
            controller.kill()
        assert comes_true(lambda: all(map(gone, pids)))
        controller.kill()
