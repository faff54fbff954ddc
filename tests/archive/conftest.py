"""A private PostgreSQL cluster, an archive of either kind, and records to put in it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from treesearch.archive import Archive
from treesearch.records import (
    Accuracy,
    Answer,
    Argument,
    Budget,
    Build,
    Category,
    Conditions,
    Config,
    Device,
    Edge,
    Evaluation,
    Idea,
    Kernel,
    Measurement,
    Price,
    Problem,
    Proposal,
    Protocol,
    Rate,
    Ratio,
    Relation,
    Request,
    Role,
    Round,
    Run,
    Sampling,
    Signature,
    Stage,
    Status,
    Timing,
    Usage,
)

# ── where archives live ─────────────────────────────────────────────────────────────────────────


class Cluster:
    """A PostgreSQL server for these tests alone, reached through a socket in its own folder."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs = programs
        self.folder = folder
        self._count = 0

    def start(self) -> None:
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c fsync=off"
        self._run("pg_ctl", "-D", data, "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")

    def create(self) -> str:
        """URL of a fresh database."""
        self._count += 1
        self.execute("postgres", f"CREATE DATABASE archive{self._count}")
        return self.url(f"archive{self._count}")

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://postgres:secret@/{database}?host={self.folder}"

    def execute(self, database: str, statement: str) -> None:
        """Run a statement as the superuser."""
        import psycopg  # may be absent; then no cluster was started

        with psycopg.connect(host=str(self.folder), user="postgres", dbname=database, autocommit=True) as connection:
            connection.execute(statement.encode())

    def _run(self, program: str, *arguments: str) -> None:
        # The server refuses to run as root.
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*user, str(self.programs / program), *arguments]
        # A file and no pipe: the server inherits it, and a pipe would be read until the server ends.
        with (self.folder / "output").open("w") as output:
            done = subprocess.run(
                command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
            )
        assert done.returncode == 0, (self.folder / "output").read_text()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "")]
    if not found[-1].name:
        pytest.skip("no PostgreSQL server on this machine")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # the path of a socket has to be short
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        started = Cluster(found[-1].parent, folder)
        started.start()
        yield started
        started.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a fresh archive can be made: each test that asks runs once per database."""
    if request.param == "sqlite":
        return str(tmp_path / "archive.db")
    fresh: str = request.getfixturevalue("cluster").create()
    return fresh


@pytest.fixture
def archive(url: str) -> Iterator[Archive]:
    with Archive(url) as opened:
        yield opened


# ── what to put there ───────────────────────────────────────────────────────────────────────────


class Samples:
    """Records with every field set to something that a default could not be mistaken for."""

    problem = Problem(
        name="bias_relu",
        source="class Model: ...\n# µ–∑ 🙂",
        signature=Signature(
            (
                Argument("x", Role.INPUT, "float32", (4, 8)),
                Argument("alpha", Role.SCALAR, "float64", ()),
                Argument("bias", Role.PARAMETER, "float32", (8,), origin="layer.bias"),
                Argument("out", Role.OUTPUT, "float32", (4, 8)),
            )
        ),
        tolerance=1e-3,
        precision="float16",
        flops=2**40,
    )
    device = Device(
        kind="cuda",
        name="H100",
        cores=132,
        memory_bytes=85_899_345_920,
        features=("sm_90", "fp8"),
        caches=("L2 50 MiB",),
        architecture="sm_90a",
        clock_mhz=1980,
        memory_clock_mhz=2619,
        shared_memory_bytes=232_448,
        bandwidth=3.0e12,
        rates=(Rate("tf32", 4.06e14), Rate("float32", 5.2e13)),
        software=("driver 580.95", "CUDA 13.0"),
    )
    other_device = Device("cpu", "Xeon", 2, 8_589_934_592)
    config = Config(
        models=("openai/o3", "file/answers"),
        language="cuda",
        rounds=3,
        ideas=5,
        implementations=2,
        beam=3,
        repairs=2,
        policy="fastest",
        deadline_seconds=7.5,
        sampling=Sampling(0.7, 4096, "high"),
        budget=Budget(usd=5.0, evaluations=100),
        prices=(Price("openai/o3", 2.0, 8.0),),
    )
    measurement = Measurement(
        kernel=Timing((0.1, 0.3, 0.2)),
        eager=Timing((1.0, 1.25)),
        eager_speedup=Ratio(5.6, 5.1, 6.2),
        compile=Timing((0.7,)),
        compile_speedup=Ratio(3.5, 3.25, 3.75),
        conditions=Conditions(1980.0, 2619.0, 512.5, 61.0, 3, ("power cap",)),
        warm=0.15,
        parent_speedup=Ratio(1.25, 1.2, 1.3),
    )
    build = Build("g++ -O3 kernel.cpp", 0.25, True, "warning: …")

    def request(
        self, run: Run, round: int = 0, stage: Stage = Stage.KERNEL, ordinal: str = "0.0", parent: str = ""
    ) -> Request:
        return Request(run.id, round, stage, run.problem, parent, ordinal, f"prompt {round} {stage} {ordinal}", "7e3f")

    def answer(self, text: str = "int launch();", usage: Usage | None = None, **more: Any) -> Answer:
        fields: dict[str, Any] = {
            "answered_by": "o3-2025-04-16",
            "help": "g++",
            "sampling": Sampling(0.5, 10, "low"),
            "seconds": 1.5,
        }
        return Answer(text, "openai/o3", usage=usage or Usage(1000, 200, 0.25), **fields | more)

    def answered(self, archive: Archive, run: Run, round: int = 0, ordinal: str = "0.0") -> str:
        """Store an answer and return its id."""
        request = self.request(run, round, ordinal=ordinal)
        archive.save_answer(request, self.answer(f"answer {round} {ordinal}"))
        return request.id

    def kernel(
        self, archive: Archive, run: Run, round: int = 0, ordinal: str = "0.0", proposal: Proposal | None = None
    ) -> Kernel:
        """A kernel whose answer is stored, while it is not."""
        answer = self.answered(archive, run, round, ordinal)
        return Kernel(run.id, round, ordinal, "cuda", f"// {round} {ordinal}", answer, proposal)

    def proposal(self, run: Run, parent: str, answer: str, ordinal: int = 0, dropped: str = "") -> Proposal:
        idea = Idea("Tile it", Category.MEMORY, "Fewer reads of x.", 1.75, "bank conflicts", "reads stay")
        return Proposal(run.id, 1, ordinal, parent, answer, idea, dropped)

    def verified(self, device: Device | None = None, **more: Any) -> Evaluation:
        fields: dict[str, Any] = {
            "protocol": Protocol(1e-3, 9.5, 4, 6, 3, 2),
            "accuracy": Accuracy(12, 2e-6, 1e-7, "float64", "float32-like"),
            "measurement": self.measurement,
            "build": self.build,
            "software": ("torch 2.13.0", "g++ 12.2.0"),
            "seed": 2**63 - 1,
            "seconds": 3.5,
            "profile": "40 registers",
        }
        return Evaluation(Status.VERIFIED, (device or self.device).id, **fields | more)

    def failed(self, status: Status = Status.WRONG, error: str = "row 3 differs", **more: Any) -> Evaluation:
        fields: dict[str, Any] = {"device": self.device.id, "protocol": Protocol(1e-3)}
        return Evaluation(status, error=error, **fields | more)

    def open(self, archive: Archive, *, new: bool = False) -> Run:
        return archive.open_run(self.problem, self.config, self.device, new=new)

    def fill(self, archive: Archive) -> Run:
        """A finished run of two rounds: one verified kernel refined once, its repair, and a failed ask."""
        run = self.open(archive)
        first = self.kernel(archive, run)
        archive.save_kernel(first)
        archive.save_evaluation(first.id, self.verified())
        archive.save_device(self.other_device)
        archive.save_evaluation(first.id, self.verified(self.other_device))
        archive.save_round(Round(run.id, 1, (first.id,)))
        proposal = self.proposal(run, first.id, self.answered(archive, run, 1, "0"))
        archive.save_proposals([proposal])
        archive.save_failed_ask(self.request(run, 1, ordinal="0.0"), "openai/o3", "overloaded")
        second = self.kernel(archive, run, 1, "0.0", proposal)
        archive.save_kernel(second, [Edge(first.id, second.id, Relation.REFINES)])
        archive.save_evaluation(second.id, self.failed())
        third = self.kernel(archive, run, 1, "0.0r1", proposal)
        inspired = Edge("elsewhere", third.id, Relation.INSPIRED_BY)
        archive.save_kernel(third, [Edge(second.id, third.id, Relation.REPAIRS), inspired])
        archive.finish(run.id, run.config.rounds)
        return archive.run(run.id)


@pytest.fixture
def samples() -> Samples:
    return Samples()
