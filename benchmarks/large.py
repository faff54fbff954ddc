"""A large archive, made up: runs as searches leave them, so that what reads archives can be timed and looked at.

Problems and devices are those of the shipped record; all else follows from the numbers of runs and kernels. Rows are
made by the archive's own mapping and inserted in one transaction a run: to store a hundred thousand kernels one by one,
as a search does, takes several minutes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from random import Random

from sqlalchemy.orm import Session

from benchmarks import large_texts as texts
from benchmarks import large_verdicts as made
from treesearch import resources
from treesearch.archive import Archive, Finding, Kind, decisions, findings, mapping, passages, verdicts
from treesearch.archive import schema as s
from treesearch.archive.connect import locate, open_engine, writing
from treesearch.archive.inserting import complete, insert_new, overwrite
from treesearch.records import (
    Answer,
    Budget,
    Comparison,
    Config,
    Decision,
    Device,
    Edge,
    Idea,
    Kernel,
    Outcome,
    Price,
    Problem,
    Proposal,
    Purpose,
    Ratio,
    Relation,
    Remeasurement,
    Request,
    Round,
    RunState,
    Stage,
    Status,
    Turn,
    Usage,
    Verb,
)

MODELS = ("openai/gpt-5.6", "anthropic/claude-opus-5", "file/answers")
PRICES = (Price(MODELS[0], 2.0, 10.0), Price(MODELS[1], 5.0, 25.0))
BEGINNING = datetime(2026, 1, 5, 8, tzinfo=UTC)
ROUNDS, BEAM, VARIANTS, IDEAS = 5, 4, 3, 8
DROPPED = 0.15
"""Share of ideas that are near-duplicates."""
REPAIRED = 0.4
"""Share of failures that are repaired."""
TABLES: tuple[type[s.Base], ...] = (
    s.RoundRow,
    s.DecisionRow,
    s.AnswerRow,
    s.FailedAskRow,
    s.TurnRow,
    s.IdeaRow,
    s.KernelRow,
    s.EdgeRow,
    s.EvaluationRow,
    s.FindingRow,
    s.RemeasurementRow,
    s.ComparisonRow,
)
"""Each after those that its rows refer to."""


@dataclass(frozen=True)
class Node:
    """A kernel with what later ones need to know of it; `milliseconds` is None unless it is verified."""

    kernel: Kernel
    code: texts.Code
    milliseconds: float | None


class Search:
    """One run, made up: `rows` are all of its rows, each after those that it refers to."""

    def __init__(self, number: int, subject: Problem, device: Device, kernels: int, runs: int) -> None:
        self.random = Random(number)
        self.subject, self.device = subject, device
        self.config = _config("cuda" if device.kind == "cuda" else "cpp", number)
        self.clock = BEGINNING + timedelta(hours=7 * number)
        self.tables: dict[type[s.Base], list[s.Base]] = defaultdict(list)
        row = mapping.run_row(subject.digest, self.config, self.device.id, 1)
        self.run, self.row = row.id, row
        self.eager = self.random.uniform(0.2, 9.0)
        self.due = max(1, kernels // 100) if number == runs - 1 else 0
        self.nodes: list[Node] = []
        self.asked: list[str] = []
        self._search(kernels)
        self._afterwards()
        self._end(number, runs)

    @property
    def rows(self) -> Iterator[s.Base]:
        for table in TABLES:
            yield from self.tables[table]

    def _add(self, *rows: s.Base) -> None:
        for row in rows:
            self.tables[type(row)].append(row)

    def _later(self) -> str:
        """A little later than whatever came before: ISO 8601, UTC."""
        self.clock += timedelta(seconds=self.random.uniform(0.5, 9))
        return self.clock.isoformat(timespec="microseconds")

    # ── rounds ──────────────────────────────────────────────────────────────────────────────────

    def _search(self, kernels: int) -> None:
        self.row.created = self._later()
        for place in range(first := max(2, kernels // 50)):
            self._implement(0, f"0.{place}", None, None, texts.first_code(self.config.language, self.random))
        for number in range(1, ROUNDS + 1):
            parents = self._fastest(BEAM)
            self._add(mapping.round_row(Round(self.run, number, tuple(one.kernel.id for one in parents))))
            if parents:
                self._round(number, parents, first + (kernels - first) * number // ROUNDS)

    def _fastest(self, count: int) -> list[Node]:
        working = [node for node in self.nodes if node.milliseconds is not None]
        return sorted(working, key=lambda node: node.milliseconds or 0)[:count]

    def _round(self, number: int, parents: Sequence[Node], until: int) -> None:
        """Ideas about each parent in turn, until so many kernels are there."""
        turn, ordinal = 0, 0
        while len(self.nodes) < until:
            parent = parents[turn % len(parents)]
            for proposal in self._propose(number, parent, ordinal, turn // len(parents)):
                if not proposal.dropped:
                    self._attempt(proposal, parent, until)
            turn, ordinal = turn + 1, ordinal + IDEAS

    def _propose(self, number: int, parent: Node, first: int, again: int) -> list[Proposal]:
        ideas = [texts.idea(self.random) for _ in range(IDEAS)]
        asked = self._request(number, Stage.IDEAS, parent, f"{again}")
        self._answer(asked, texts.ideas_answer(ideas))
        found = [self._proposal(asked, first + place, parent, one) for place, one in enumerate(ideas)]
        self._add(*map(mapping.idea_row, found))
        return found

    def _proposal(self, asked: Request, ordinal: int, parent: Node, one: Idea) -> Proposal:
        dropped = f"near-duplicate of {one.title}" if self.random.random() < DROPPED else ""
        return Proposal(self.run, asked.round, ordinal, parent.kernel.id, asked.id, one, dropped)

    def _attempt(self, proposal: Proposal, parent: Node, until: int) -> None:
        """The idea's kernels, and a repair of some that fail."""
        for variant in range(VARIANTS):
            if len(self.nodes) >= until:
                return
            slot, code = f"{proposal.ordinal}.{variant}", parent.code.changed(self.random)
            node = self._implement(proposal.round, slot, proposal, parent, code)
            fails = node.milliseconds is None and self.random.random() < REPAIRED
            if fails and len(self.nodes) < until:
                self._implement(proposal.round, f"{slot}r1", proposal, node, code.changed(self.random), parent)

    def _implement(
        self,
        number: int,
        slot: str,
        proposal: Proposal | None,
        origin: Node | None,
        code: texts.Code,
        refined: Node | None = None,
    ) -> Node:
        """One kernel with its question, its edges and its verdict; `refined` is the idea's parent, for a repair."""
        status = made.status(self.random, repaired=refined is not None) if self.nodes else Status.VERIFIED
        source = code.text if status is not Status.NO_CODE else None
        asked = self._request(number, Stage.REPAIR if refined else Stage.KERNEL, origin, slot)
        self._answer(asked, texts.kernel_answer(code.language, source, proposal.idea if proposal else None))
        kernel = Kernel(self.run, number, slot, code.language, source, asked.id, proposal)
        self._add(mapping.kernel_row(kernel), *self._edges(kernel, origin, refined))
        started = refined or origin
        milliseconds = self._time(started.milliseconds if started else None)
        self._judge(kernel, status, milliseconds, started)
        node = Node(kernel, code, milliseconds if status is Status.VERIFIED else None)
        self.nodes.append(node)
        return node

    def _edges(self, kernel: Kernel, origin: Node | None, refined: Node | None) -> Iterator[s.EdgeRow]:
        if origin:
            relation = Relation.REPAIRS if refined else Relation.REFINES
            yield mapping.edge_row(Edge(origin.kernel.id, kernel.id, relation))
        others = [node for node in self.nodes[-50:-40] if node is not origin]
        if others and self.random.random() < 0.05:
            other = self.random.choice(others)
            yield mapping.edge_row(Edge(other.kernel.id, kernel.id, Relation.INSPIRED_BY))

    def _time(self, parent: float | None) -> float:
        """Milliseconds of a kernel that works: most steps gain little, and none passes a floor."""
        if parent is None:
            return self.eager * self.random.uniform(0.8, 4)
        return max(self.eager / 12, parent * self.random.lognormvariate(0.04, 0.12))

    # ── what is asked, and what becomes of it ───────────────────────────────────────────────────

    def _request(self, number: int, stage: Stage, about: Node | None, ordinal: str) -> Request:
        parent = about.kernel.digest if about else ""
        prompt = texts.prompt(self.config.language, about.code.text if about else self.subject.source)
        return Request(self.run, number, stage, self.subject.digest, parent, ordinal, prompt, "7e3f")

    def _answer(self, request: Request, text: str) -> None:
        model = self.random.choice(self.config.models)
        usage = Usage(len(request.prompt) // 4, len(text) // 4)
        price = next((price for price in PRICES if price.model == model), None)
        usage, seconds = price.paid(usage) if price else usage, self.random.uniform(4, 90)
        if self.random.random() < 0.01:
            self._failed_ask(request, model)
        if self.random.random() < 0.02:
            self._turn(request, model)
        answer = Answer(text, model, f"{model}-2026-01", "nvcc", usage=usage, seconds=seconds, created=self._later())
        self._add(mapping.answer_row(request, answer))
        self.asked.append(request.prompt)

    def _failed_ask(self, request: Request, model: str) -> None:
        row = mapping.failed_ask_row(request, model, "HTTP 529: overloaded, try again later", "", Usage())
        row.created = self._later()
        self._add(row)

    def _turn(self, request: Request, model: str) -> None:
        said = Turn(model, 0, made.TOOL_CALL, ("registers: 40; no spills",), Usage(900, 250), 3.0)
        row = mapping.turn_row(request, said)
        row.created = self._later()
        self._add(row)

    def _judge(self, kernel: Kernel, status: Status, milliseconds: float, parent: Node | None) -> None:
        over = parent.milliseconds if parent else None
        judged = made.evaluation(self.random, self.device.id, status, milliseconds, self.eager, over)
        row = verdicts.evaluation_row(kernel.id, replace(judged, created=self._later()), 1)
        row.stored = row.created
        self._add(row)

    # ── afterwards ──────────────────────────────────────────────────────────────────────────────

    def _afterwards(self) -> None:
        """Final measurements of the three fastest, a duel, and what was found out or decided about some."""
        fastest = self._fastest(3)
        for node in fastest:
            self._measure(node)
        if len(fastest) > 1:
            self._compare(*fastest[:2])
        for row, node in zip(self.tables[s.EvaluationRow], self.nodes, strict=True):
            if isinstance(row, s.EvaluationRow) and row.status == Status.SUSPECT and self.random.random() < 0.2:
                self._find(node, Kind.CLEARED, "the input is sparse, so the bytes need not be moved")
        slower = [node for node in self.nodes if node.milliseconds is not None and node not in fastest]
        for node in self.random.sample(slower, min(2, len(slower))):
            self._find(node, Kind.SUSPECT, "racecheck found a hazard in shared memory")
        self._decide()

    def _measure(self, node: Node) -> None:
        assert node.milliseconds is not None
        times = node.milliseconds * 1.01, self.eager
        judged = made.evaluation(self.random, self.device.id, Status.VERIFIED, *times, final=True)
        judged = replace(judged, created=self._later())
        self._add(verdicts.remeasurement_row(Remeasurement(node.kernel.id, Purpose.FINAL, judged)))

    def _compare(self, first: Node, second: Node) -> None:
        ratio = Ratio(1.03, 1.01, 1.05)
        about = first.kernel.id, second.kernel.id, self.device.id
        self._add(verdicts.comparison_row(Comparison(*about, ratio, 8, Outcome.FASTER, self._later())))

    def _find(self, node: Node, kind: Kind, reason: str) -> None:
        self._add(findings.finding_row(Finding(node.kernel.id, kind, reason, created=self._later())))

    def _decide(self) -> None:
        proposed = [node.kernel.proposal for node in self.nodes if node.kernel.proposal]
        if proposed and self.random.random() < 0.1:
            one = self.random.choice(proposed)
            verb = self.random.choice((Verb.PIN, Verb.BAN))
            said = Decision(self.run, verb, one.idea, one.parent, one.id, "seen before", created=self._later())
            self._add(decisions.decision_row(said))

    def _end(self, number: int, runs: int) -> None:
        """The last run still goes on, with verdicts that are due; of the others some stopped at a limit."""
        if self.due:
            del self.tables[s.EvaluationRow][-self.due :]
        elif number % 7 == 3:
            self.row.state, self.row.stopped = RunState.STOPPED, "5 of 5 US dollars are spent"
        else:
            self.row.state = RunState.DONE


def _config(language: str, number: int) -> Config:
    """Every run has another budget of tokens for an answer, which makes it a run of its own."""
    models = MODELS[number % 2 :] if number % 3 else MODELS[:1]
    config = Config(models, language, ROUNDS, IDEAS, VARIANTS, BEAM, budget=Budget(usd=5.0), prices=PRICES)
    return replace(config, sampling=replace(config.sampling, max_tokens=16_000 + number))


def sizes(runs: int, kernels: int, largest: int) -> list[int]:
    """How many kernels each run has: the first has the most, the others have as many as one another."""
    if runs == 1:
        return [kernels]
    rest, over = divmod(kernels - largest, runs - 1)
    return [largest, *(rest + (place < over) for place in range(runs - 1))]


def prepare(path: Path, runs: int, kernels: int, largest: int) -> None:
    """Write an archive with so many runs, and so many kernels in all; it must not be there yet."""
    with Archive(resources.record(), read_only=True) as record:
        about = list(product(record.problems(), record.devices()))[: max(1, runs // 2)]  # so that two can be compared
    Archive(path).close()
    engine = writing(open_engine(locate(path), read_only=False, busy_seconds=30))
    for number, size in enumerate(sizes(runs, kernels, largest)):
        search = Search(number, *about[number % len(about)], size, runs)
        with Session(engine) as session, session.begin():
            _store(session, search)
    engine.dispose()


def _store(session: Session, search: Search) -> None:
    overwrite(session, mapping.problem_row(search.subject))
    complete(session, mapping.device_row(search.device))
    insert_new(session, [search.row])
    insert_new(session, list(search.rows))
    passages.keep(session, search.asked)
