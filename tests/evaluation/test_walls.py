"""What each tier of the sandbox keeps a child from, tried by attack: every attack succeeds without walls."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from treesearch.errors import UsageError
from treesearch.evaluation import sandbox, walls
from treesearch.evaluation.checks import Check
from treesearch.evaluation.sandbox import Child, ChildDied, Limits
from treesearch.evaluation.walls import Tier, Walls, readable, tiers

ATTACKS = {
    "read a file of the user's": "open(SECRET).read()",
    "list the home folder": "assert os.listdir(os.path.dirname(SECRET))",
    "read another process's environment": "open(f'/proc/{VICTIM}/environ', 'rb').read(1) or os.abort()",
    "write beside a file of the user's": "open(SECRET + '.new', 'w').write('x')",
    "write into the system": "open('/usr/treesearch-was-here', 'w').write('x')",
    "change its own code": "open(PYTHON, 'r+b').close()",
    "connect to this machine": "socket.create_connection(('127.0.0.1', PORT), timeout=2)",
    "signal another process": "os.kill(VICTIM, 0)",
    "see where another process's memory lies": "open(f'/proc/{VICTIM}/maps').read(9) or os.abort()",
    "start a process under another's identity": "libc.setgroups(0, None) == 0 or os.abort(); os.setuid(1)",
    "mount a file system": "assert libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0",
    "make a user namespace": "assert libc.unshare(0x10000000) == 0",
    "trace another process": "assert libc.ptrace(0x4206, VICTIM, None, None) == 0",
    "gain privileges": "assert libc.setuid(0) == 0 and os.getuid() == 0 and libc.chroot(b'/') == 0",
}
"""Python that raises where the attack is kept out."""
ATTACK = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None)
SECRET, PYTHON, PORT, VICTIM = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
print("started", flush=True)
exec(sys.argv[5])
print("succeeded", flush=True)
"""


@pytest.fixture(scope="module")
def victim() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("secret")
    return path


def python(*words: str) -> list[str]:
    return [os.path.realpath(sys.executable), "-I", "-S", "-c", *words]


def attempt(attack: str, secret: Path, port: int, victim: int, around: Walls | None) -> sandbox.Finished:
    words = (ATTACK, str(secret), os.path.realpath(sys.executable), str(port), str(victim), attack)
    finished = sandbox.run(python(*words), seconds=20, limits=Limits(), cwd=Path("/"), walls=around)
    assert "started" in finished.output, finished.output
    return finished


def use(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tiers.CHOICE, tier)
    if walls.available().tier is not tier:
        pytest.skip(f"this machine does not offer the tier {tier}")


@pytest.mark.parametrize("tier", [Tier.NAMESPACES, Tier.LANDLOCK])
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_tier_keeps_out_what_it_is_relied_on_for(
    tier: Tier, attack: str, secret: Path, port: int, victim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(tier, monkeypatch)
    finished = attempt(ATTACKS[attack], secret, port, victim, Walls(readable()))
    assert "succeeded" not in finished.output
    assert finished.code != 0


@pytest.mark.parametrize("attack", ["read a file of the user's", "connect to this machine", "signal another process"])
def test_without_walls_the_same_attacks_succeed(attack: str, secret: Path, port: int, victim: int) -> None:
    """Otherwise they would prove nothing."""
    finished = attempt(ATTACKS[attack], secret, port, victim, None)
    assert "succeeded" in finished.output, finished.output


@pytest.mark.parametrize(
    ("check", "attack"),
    [
        (Check.FILES, "read a file of the user's"),
        (Check.NETWORK, "connect to this machine"),
        (Check.PROCESSES, "signal another process"),
    ],
)
def test_a_wall_that_is_left_out_lets_through_what_it_alone_holds(
    check: Check, attack: str, secret: Path, port: int, victim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Tier.NAMESPACES, monkeypatch)
    if walls.available().user is not None:  # who is somebody else may still not read or signal
        secret.parent.chmod(0o755)
        for above in secret.parents:
            if above.stat().st_uid == os.getuid() and str(above).startswith("/tmp/"):
                above.chmod(0o755)
    around = Walls(readable(), without=frozenset({check, Check.FILES}))
    finished = attempt(ATTACKS[attack], secret, port, victim, around)
    assert "succeeded" in finished.output, finished.output


def test_a_private_temporary_folder_holds_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    use(Tier.NAMESPACES, monkeypatch)
    fill = "n = 0\nwith open('/tmp/f', 'wb') as f:\n for i in range(64): f.write(bytes(1 << 20)); f.flush(); n += 1"
    around = Walls(readable(), temporary_bytes=8 << 20)
    finished = sandbox.run(python(fill), seconds=20, limits=Limits(), cwd=Path("/"), walls=around)
    assert finished.code == 1
    assert "No space left on device" in finished.output


def test_the_end_of_a_child_is_told_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the processes that stand above it, the first one of its namespace among them."""
    for code, told in (
        ("import os; os.abort()", "SIGABRT"),
        ("raise SystemExit(7)", "code 7"),
        ("1 / 0", "ZeroDivision"),
    ):
        with Child(python(code), walls=Walls(readable())) as child, pytest.raises(ChildDied) as died:
            child.ask({}, 20)
        assert told in died.value.reason


def test_a_child_answers_whose_descriptor_is_beyond_what_select_takes() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        echo = "import os, sys\nfor line in sys.stdin: os.write(int(sys.argv[1]), line.encode())"
        with Child(python(echo), walls=Walls(readable())) as child:
            assert child.ask({"a": 1}, 20) == {"a": 1}
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_child_that_leaves_its_group_dies_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(Tier.NAMESPACES, monkeypatch)
    escape = "import os, sys, time\nif not os.fork(): os.setsid(); time.sleep(60)\n"
    escape += "os.write(int(sys.argv[1]), b'{}\\n'); time.sleep(60)"
    before = sleepers()
    with Child(python(escape), walls=Walls(readable(), processes=True)) as child:
        child.receive(20)
        assert sleepers() - before
    wait_until_gone(before)


@pytest.mark.parametrize("tier", [Tier.NAMESPACES, Tier.LIMITS])
def test_a_stopped_child_dies_with_a_controller_that_is_killed(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process gets no signal but SIGKILL, and a worker is stopped most of the time."""
    use(tier, monkeypatch)
    child = "import os, sys, time; os.write(int(sys.argv[1]), b'{}\\n'); 'os.setsid(); time.sleep(60)'; time.sleep(60)"
    controller = (
        "import os, signal\n"
        "from treesearch.evaluation.sandbox import Child\n"
        "from treesearch.evaluation.walls import Walls, readable\n"
        f"child = Child({python(child)!r}, walls=Walls(readable(), processes=True))\n"
        "child.receive(20)\n"
        "with child.awake(): pass\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    before = sleepers()
    ended = subprocess.run([sys.executable, "-c", controller], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    wait_until_gone(before)


def sleepers() -> set[str]:
    """Processes whose command line holds the escape above."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"os.setsid(); time.sleep(60)" in (process / "cmdline").read_bytes():
                found.add(process.name)
        except OSError:  # it ended meanwhile
            continue
    return found


def wait_until_gone(before: set[str]) -> None:
    deadline = time.monotonic() + 10
    while sleepers() - before:
        assert time.monotonic() < deadline, "a process outlived its group"
        time.sleep(0.05)


def test_no_variable_of_the_users_reaches_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    tell = "import os; print(dict(os.environ))"
    finished = sandbox.run(python(tell), seconds=20, limits=Limits(), cwd=Path("/"), walls=Walls(readable()))
    assert finished.code == 0
    assert "secret" not in finished.output


def test_a_tier_that_does_not_exist_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tiers.CHOICE, "fortress")
    with pytest.raises(UsageError, match="'fortress'; it can be namespaces, landlock, limits"):
        walls.available()


def test_the_weakest_tier_warns_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tiers.CHOICE, "limits")
    assert "NO SANDBOX" in walls.available().warning


def test_a_description_names_what_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    use(Tier.NAMESPACES, monkeypatch)
    described = walls.available().description
    assert described.startswith("namespaces (")
    assert described.endswith("limits")


def test_settings_hold_nothing_but_names_and_paths() -> None:
    """A child can read its own command line."""
    command = walls.available().command(
        ["true"], Walls(readable()), {"memory": 0, "data": 0, "file": 0, "descriptors": 0}, parent=1
    )
    assert set(json.loads(command[4])) >= {"namespaces", "landlock", "seccomp", "readable", "writable"}


def test_every_child_waits_for_few_imports() -> None:
    """One slip, such as a package above that needs dataclasses, has each start take half as long again."""
    listing = f"import runpy, sys; runpy.run_path({str(tiers.CONFINE)!r}); print(*sys.modules)"
    asked = subprocess.run([sys.executable, "-I", "-S", "-c", listing], capture_output=True, text=True, check=True)
    assert not {"dataclasses", "inspect", "pathlib", "subprocess", "torch"} & set(asked.stdout.split())
