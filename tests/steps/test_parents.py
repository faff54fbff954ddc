"""What a search asks of its evaluator beside a verdict: a comparison with the parent, and no needless timing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.steps import away, scripted
from tests.steps.away import Split
from treesearch import api, problem, work
from treesearch.evaluation import bundle
from treesearch.evaluation.build import Built
from treesearch.evaluation.bundle import Bundle, Due
from treesearch.evaluation.duel import Duelled
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.trial import Attempted
from treesearch.languages import CPP
from treesearch.lineage import Lineage
from treesearch.models import ModelOptions
from treesearch.records import Entry, Evaluation, Outcome, Protocol, Ratio, Status, Timing
from treesearch.testing import ScriptedEndpoint, ScriptedEvaluator

COMPARED = Duelled(Ratio(2.0, 1.9, 2.1), 20, Outcome.FASTER)


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    away.believe(monkeypatch)
    with scripted.settings():
        yield


@dataclass
class Asked:
    """What evaluators were asked: each build with its parent, and the incumbents in order."""

    parents: dict[Path | None, Path | None] = field(default_factory=dict)
    incumbents: list[float | None] = field(default_factory=list)
    duels: list[tuple[Path | None, Path | None]] = field(default_factory=list)
    promoted: set[int] = field(default_factory=set)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Evaluators as they are, except that every duel comes out the same."""
    noted, attempt, conclude = Asked(), Evaluator.attempt, Evaluator.conclude

    def attempted(self: Evaluator, built: Built, incumbent: float | None = None) -> Attempted:
        noted.incumbents.append(incumbent)
        noted.promoted.add(self._promoted)
        return attempt(self, built, incumbent)

    def concluded(self: Evaluator, one: Attempted, parent: Built | None = None, *, closely: bool = False) -> Evaluation:
        if not self._thorough:  # the winner's final measurement comes after all that is asked here
            noted.parents[one.built.library] = parent.library if parent else None
        return conclude(self, one, parent, closely=closely)

    def duel(self: Evaluator, first: Built, second: Built) -> Duelled:
        noted.duels.append((first.library, second.library))
        return COMPARED

    monkeypatch.setattr(Evaluator, "attempt", attempted)
    monkeypatch.setattr(Evaluator, "conclude", concluded)
    monkeypatch.setattr(Evaluator, "duel", duel)
    return noted


class Noting(ScriptedEvaluator):
    """Remembers by source what each kernel was to be compared with, and the incumbents in order."""

    def __init__(self) -> None:
        super().__init__(scripted.verdict)
        self.parents: dict[str, str | None] = {}
        self.incumbents: list[float | None] = []

    def judge(self, built: Built, *, parent: Built | None = None, incumbent: float | None = None) -> Evaluation:
        judged = super().judge(built, parent=parent, incumbent=incumbent)
        if built.library:
            self.parents[self.source(built)] = self.source(parent) if parent else None
            self.incumbents.append(incumbent)
        return judged


@pytest.fixture
def noting() -> Noting:
    return Noting()


def time(source: str) -> float:
    found = scripted.verdict(source)
    assert isinstance(found, float)
    return found


def refined(lineage: Lineage) -> dict[str, str | None]:
    """By source, that of the kernel whose idea it implements."""
    found = {}
    for entry in lineage.entries:
        above = lineage.refined(entry.kernel.id)
        found[entry.kernel.source or ""] = above.kernel.source if above else None
    return found


def speedups(lineage: Lineage) -> dict[Entry, Ratio | None]:
    measured = {one: one.evaluation.measurement for one in lineage.entries if one.evaluation}
    return {one: found.parent_speedup for one, found in measured.items() if found}


Libraries = Callable[[str], Path | None]


@pytest.fixture
def libraries(tmp_path: Path) -> Libraries:
    """What a source builds to, from the cache."""
    subject = problem.load(str(scripted.write_problem(tmp_path)))
    with Evaluator(subject, CPP, Protocol(1e-2)) as evaluator:
        return lambda source: evaluator.build(source).library


def test_what_refines_a_kernel_is_compared_with_it_and_so_is_a_repair(tmp_path: Path, noting: Noting) -> None:
    def reply(prompt: str) -> str:
        """Second implementations do not compile; their repairs are right."""
        if scripted.is_ideas(prompt) or not scripted.is_repair(prompt):
            return scripted.mixed(prompt)
        return scripted.right(prompt)

    with ScriptedEndpoint(reply) as endpoint:
        result = api.search(
            scripted.write_problem(tmp_path),
            models=["openai/s"],
            rounds=1,
            ideas=1,
            implementations=2,
            beam=2,
            archive=tmp_path / "a.db",
            options=ModelOptions(api_base=endpoint.base_url),
            evaluator=noting,
        )
    built = {child: parent for child, parent in refined(result.lineage).items() if scripted.BROKEN not in child}
    assert noting.parents == built
    assert sum(parent is not None for parent in built.values()) == 2, "a kernel and a repair"
    compared = {entry.kernel.source: ratio for entry, ratio in speedups(result.lineage).items() if ratio}
    assert {child: ratio.value for child, ratio in compared.items()} == {
        child: time(parent) / time(child) for child, parent in built.items() if parent
    }


def test_the_incumbent_is_the_fastest_that_is_stored(tmp_path: Path, noting: Noting) -> None:
    with ScriptedEndpoint(scripted.right) as endpoint:

        def search(rounds: int) -> Lineage:
            return api.search(
                scripted.write_problem(tmp_path),
                models=["openai/s"],
                rounds=rounds,
                ideas=1,
                implementations=1,
                beam=2,
                archive=tmp_path / "a.db",
                options=ModelOptions(api_base=endpoint.base_url),
                evaluator=noting,
            ).lineage

        first = search(0)
        assert noting.incumbents[0] is None
        assert noting.incumbents[1] in {entry.milliseconds for entry in first.entries}
        noting.incumbents.clear()
        search(1)
    fastest = first.fastest()
    assert fastest is not None
    assert noting.incumbents[0] == fastest.milliseconds


@pytest.mark.compiler
@pytest.mark.untimed
def test_as_many_are_promoted_as_the_beam_holds(tmp_path: Path, asked: Asked) -> None:
    with ScriptedEndpoint(scripted.right) as endpoint:
        options = ModelOptions(api_base=endpoint.base_url)
        subject, archive = scripted.write_problem(tmp_path), tmp_path / "a.db"
        api.search(subject, models=["openai/s"], rounds=0, beam=3, archive=archive, options=options)
    assert 3 in asked.promoted


@pytest.mark.compiler
def test_a_promoted_kernel_is_launched_in_turn_with_its_parent(tmp_path: Path, asked: Asked) -> None:
    subject = problem.load(str(scripted.write_problem(tmp_path)))
    with Evaluator(subject, CPP, Protocol(1e-2), promoted=2) as evaluator:
        parent, child = (evaluator.build(scripted.source(mark=mark)) for mark in ("parent", "child"))
        evaluator.judge(parent)
        verdict = evaluator.judge(child, parent=parent)
    assert asked.duels == [(child.library, parent.library)]
    assert verdict.measurement is not None
    assert verdict.measurement.parent_speedup == COMPARED.ratio


@pytest.mark.compiler
@pytest.mark.untimed
class TestElsewhere:
    def test_a_bundle_carries_parents_and_what_is_to_be_beaten(self, tmp_path: Path) -> None:
        with ScriptedEndpoint(scripted.mixed) as endpoint:
            split = Split(tmp_path, endpoint, away.write_device(tmp_path, away.target()))
            packed = []
            for _ in range(4):  # first kernels, a repair, the ideas' kernels, a repair
                packed.append(bundle.read(path := split.waits()))
                split.absorb(split.judge(path))
            lineage = split.finish().lineage
        above = refined(lineage)
        for one in packed:
            assert {kernel.source: kernel.parent for kernel in one.kernels} == {
                kernel.source: above[kernel.source] or "" for kernel in one.kernels
            }
        assert [bool(kernel.parent) for one in packed for kernel in one.kernels] == [False] * 3 + [True] * 3
        assert {one.promoted for one in packed} == {2}
        assert packed[0].incumbent is None
        firsts = [entry for entry in lineage.entries if entry.kernel.round == 0]
        assert packed[2].incumbent == min(entry.milliseconds for entry in firsts if entry.milliseconds)

    def given(self, folder: Path, **changes: object) -> Bundle:
        packed = bundle.read(away.packed(folder, [scripted.source(mark="child"), scripted.source(mark="other")]))
        first, second = packed.kernels
        parent = scripted.source(mark="parent")
        kernels = (Due.of(first.id, first.source, parent), Due.of(second.id, second.source))
        return replace(packed, kernels=kernels, **changes)  # type: ignore[arg-type]

    def judged(self, folder: Path, packed: Bundle) -> dict[str, Evaluation]:
        bundle.write(folder / "b.bundle.json", packed.text)
        done = work.work(folder / "b.bundle.json", say=lambda line: None)
        return {verdict.kernel: verdict.evaluation for verdict in done.verdicts}

    @pytest.mark.timed
    def test_the_other_machine_compares_with_parents(self, tmp_path: Path, asked: Asked, libraries: Libraries) -> None:
        packed = self.given(tmp_path, promoted=2, incumbent=0.25)
        verdicts = self.judged(tmp_path, packed)
        child, parent = libraries(packed.kernels[0].source), libraries(packed.kernels[0].parent)
        assert asked.duels == [(child, parent)]
        assert asked.incumbents == [0.25, 0.25]
        compared = {name: one.measurement.parent_speedup for name, one in verdicts.items() if one.measurement}
        assert compared == {"k0": COMPARED.ratio, "k1": None}

    @pytest.mark.parametrize(("promoted", "expected"), [(1, [2.0]), (2, [2.0, 3.0]), (9, [2.0, 3.0, 4.0, 5.0])])
    def test_the_other_machine_looks_closely_at_the_fastest_of_all(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, promoted: int, expected: list[float]
    ) -> None:
        times, looked_at = iter([4.0, 2.0, 5.0, 3.0]), []
        attempt, conclude = Evaluator.attempt, Evaluator.conclude

        def attempted(self: Evaluator, built: Built, incumbent: float | None = None) -> Attempted:
            one = attempt(self, built, incumbent)
            if one.outcome is None:
                return one
            measured = replace(one.outcome.measurement, kernel=Timing((next(times),)))
            return replace(one, outcome=replace(one.outcome, measurement=measured))

        def concluded(
            self: Evaluator, one: Attempted, parent: Built | None = None, *, closely: bool = False
        ) -> Evaluation:
            looked_at.extend([one.milliseconds] if closely else [])
            return conclude(self, one, parent, closely=closely)

        monkeypatch.setattr(Evaluator, "attempt", attempted)
        monkeypatch.setattr(Evaluator, "conclude", concluded)
        marks = ["one", "two", "three", "four"]
        sources = [scripted.source(scripted.WRONG), *(scripted.source(mark=mark) for mark in marks)]
        packed = replace(bundle.read(away.packed(tmp_path, sources)), promoted=promoted)
        verdicts = self.judged(tmp_path, packed)
        assert looked_at == expected
        assert Counter(one.status for one in verdicts.values()) == {Status.VERIFIED: 4, Status.WRONG: 1}

    def test_a_parent_that_does_not_build_there_is_no_error(self, tmp_path: Path, asked: Asked) -> None:
        packed = self.given(tmp_path)
        [first, second] = packed.kernels
        broken = replace(packed, kernels=(Due.of(first.id, first.source, scripted.source(scripted.BROKEN)), second))
        assert all(one.measurement for one in self.judged(tmp_path, broken).values())
        assert set(asked.parents.values()) == {None}
