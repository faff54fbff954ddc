"""A small run to show: three rounds, a repair, a failure, a kernel found suspect later, and names that mean harm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.view.test_hardware import H100, NORM
from treesearch.archive import Archive, Finding, Kind
from treesearch.records import (
    Accuracy,
    Answer,
    Build,
    Category,
    Config,
    Edge,
    Evaluation,
    Idea,
    Kernel,
    Measurement,
    Proposal,
    Protocol,
    Purpose,
    Ratio,
    Relation,
    Remeasurement,
    Request,
    Run,
    Stage,
    Status,
    Timing,
    Usage,
)

HARM = "</script><script>alert(1)</script> & \"quoted\" 'too' \x1b[31m\u202e"
FIRST = "int launch() {\n  return 0;\n}\n"
TILED = "int launch() {\n  // tiled & <fast>\n  return 0;\n}\n"


@dataclass(frozen=True)
class Stock:
    """Where the archive is, and the ids of its kernels by what they are."""

    path: Path
    run: Run
    root: str
    broken: str
    repair: str
    slow: str
    suspect: str
    due: str


def fill(path: Path, *, finished: bool = True) -> Stock:
    with Archive(path) as archive:
        run = archive.open_run(NORM, Config((HARM,), "cuda", rounds=2), H100)
        root = _kernel(archive, run, 0, "0.0", FIRST)
        judge(archive, root, 1.0)
        tiles = _proposal(archive, run, root, 0, f"Tiles {HARM}", 2.0)
        vectors = _proposal(archive, run, root, 1, "Vectors", 1.5)
        broken = _kernel(archive, run, 1, "0.0", "int launch(", root, tiles)
        archive.save_evaluation(broken.id, _failed(f"kernel.cu:1: error: expected {HARM}"))
        repair = _kernel(archive, run, 1, "0.0r1", TILED, broken, tiles, Relation.REPAIRS)
        judge(archive, repair, 0.4)
        slow = _kernel(archive, run, 1, "1.0", TILED.replace("tiled", "vectored"), root, vectors)
        judge(archive, slow, 1.25)
        suspect = _kernel(archive, run, 1, "1.1", TILED.replace("tiled", "quick"), root, vectors)
        judge(archive, suspect, 0.01)
        archive.save_finding(Finding(suspect.id, Kind.SUSPECT, "it reads its neighbour's answer"))
        due = _kernel(archive, run, 2, "0.0", TILED, repair, tiles)
        again = Remeasurement(repair.id, Purpose.FINAL, _timed(0.41, created="2026-11-21T10:00:00.000000+00:00"))
        archive.save_remeasurement(again)
        if finished:
            archive.finish(run.id, 2)
        return Stock(path, archive.run(run.id), *(one.id for one in (root, broken, repair, slow, suspect, due)))


def judge(archive: Archive, kernel: Kernel, milliseconds: float) -> None:
    """Store that it is verified and takes this long."""
    archive.save_evaluation(kernel.id, _timed(milliseconds))


def add(archive: Archive, stock: Stock, ordinal: str, milliseconds: float) -> Kernel:
    """One more kernel, which refines the root, judged."""
    kernel = Kernel(stock.run.id, 2, ordinal, "cuda", TILED, "")
    archive.save_kernel(kernel, [Edge(stock.root, kernel.id, Relation.REFINES)])
    judge(archive, kernel, milliseconds)
    return kernel


def _timed(milliseconds: float, created: str = "") -> Evaluation:
    eager, compiled = 2.0 / milliseconds, 1.0 / milliseconds
    measured = Measurement(
        kernel=Timing((milliseconds, milliseconds * 1.1, milliseconds * 0.9)),
        eager=Timing((2.0,)),
        eager_speedup=Ratio(eager, eager * 0.9, eager * 1.1),
        compile=Timing((1.0,)),
        compile_speedup=Ratio(compiled, compiled * 0.9, compiled * 1.1),
    )
    return Evaluation(
        Status.VERIFIED,
        H100.id,
        Protocol(0.01),
        accuracy=Accuracy(12, 1e-6, 2e-6, "float64", "float32-like"),
        measurement=measured,
        build=Build("nvcc kernel.cu", 1.0, False, "ptxas info: <nothing>"),
        sandbox="namespaces, seccomp",
        created=created,
    )


def _failed(error: str) -> Evaluation:
    return Evaluation(Status.BUILD_FAILED, H100.id, Protocol(0.01), error)


def _proposal(archive: Archive, run: Run, parent: Kernel, ordinal: int, title: str, expected: float) -> Proposal:
    request = Request(run.id, 1, Stage.IDEAS, NORM.digest, parent.digest, str(ordinal), f"Which ideas? {HARM}")
    archive.save_answer(request, Answer(f"These. {HARM}", "openai/thinker", usage=Usage(100, 50, 0.25)))
    idea = Idea(title, Category.MEMORY, f"Load once. {HARM}", expected, "registers", "no faster")
    proposal = Proposal(run.id, 1, ordinal, parent.id, request.id, idea)
    archive.save_proposals([proposal])
    return proposal


def _kernel(
    archive: Archive,
    run: Run,
    round: int,
    ordinal: str,
    source: str,
    parent: Kernel | None = None,
    proposal: Proposal | None = None,
    relation: Relation = Relation.REFINES,
) -> Kernel:
    stage = Stage.REPAIR if relation is Relation.REPAIRS else Stage.KERNEL
    request = Request(run.id, round, stage, NORM.digest, parent.digest if parent else "", ordinal, f"Write. {HARM}")
    archive.save_answer(request, Answer(f"Here: {source} {HARM}", "openai/writer", usage=Usage(1000, 500)))
    kernel = Kernel(run.id, round, ordinal, "cuda", source, request.id, proposal)
    archive.save_kernel(kernel, [Edge(parent.id, kernel.id, relation)] if parent else [])
    return kernel
