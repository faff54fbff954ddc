"""The winner is measured again after the search: who, when, and what happens to one that fails then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import treesearch
from tests.steps import scripted
from treesearch.api import Result
from treesearch.archive import Archive
from treesearch.events import Event, Preparing
from treesearch.lineage import Lineage, Standing, standing
from treesearch.models import ModelOptions
from treesearch.records import (
    Accuracy,
    Entry,
    Evaluation,
    Kernel,
    Measurement,
    Protocol,
    Purpose,
    Ratio,
    Remeasurement,
    Status,
    Timing,
)
from treesearch.steps.finish import contenders, is_final
from treesearch.testing import ScriptedEndpoint


@dataclass(frozen=True)
class Searching:
    """A search for first kernels alone, again and again."""

    problem: Path
    archive: Path
    endpoint: ScriptedEndpoint

    def run(self, watched: list[Event] | None = None) -> Result:
        options = ModelOptions(api_base=self.endpoint.base_url)
        observe = (watched if watched is not None else []).append
        return treesearch.search(
            self.problem,
            models=["openai/s"],
            rounds=0,
            beam=1,
            archive=self.archive,
            options=options,
            observe=observe,
        )

    def finals(self, result: Result) -> tuple[Remeasurement, ...]:
        with Archive(self.archive, read_only=True) as store:
            return store.remeasurements([entry.kernel.id for entry in store.entries(result.run.id)])


@pytest.fixture
def searching(tmp_path: Path) -> Iterator[Searching]:
    with scripted.settings(), ScriptedEndpoint(scripted.right) as endpoint:
        yield Searching(scripted.write_problem(tmp_path), tmp_path / "a.db", endpoint)


def measuring(watched: list[Event]) -> list[Event]:
    return [event for event in watched if isinstance(event, Preparing) and event.what.startswith("measuring")]


@pytest.mark.compiler
def test_the_winner_is_measured_once_more_on_inputs_of_its_own_and_stays_what_it_was(searching: Searching) -> None:
    result = searching.run()
    [final] = searching.finals(result)
    verdict = result.winner.evaluation
    assert verdict is not None
    assert (final.kernel, final.purpose) == (result.winner.kernel.id, Purpose.FINAL)
    assert final.evaluation.status is Status.VERIFIED, final.evaluation.error
    assert final.evaluation.protocol == verdict.protocol
    assert final.evaluation.seed != verdict.seed
    watched = list[Event]()
    again = searching.run(watched)
    assert again.winner == result.winner
    assert searching.finals(again) == (final,)
    assert measuring(watched) == []


@pytest.mark.compiler
def test_a_winner_that_is_wrong_now_is_suspect_and_the_next_one_wins(searching: Searching) -> None:
    result = searching.run()
    verdict = result.winner.evaluation
    assert verdict is not None
    liar = Kernel(result.run.id, 0, "0.9", "cpp", scripted.source(scripted.WRONG), "")
    with Archive(searching.archive) as store:
        store.save_kernel(liar)
        store.save_evaluation(liar.id, faster(verdict))
        assert Lineage(store.entries(result.run.id), ()).fastest() == Entry(liar, store.evaluations(liar.id)[0])
    after = searching.run()
    assert after.winner == result.winner
    found = after.lineage.entry(liar.id)
    assert standing(found) is Standing.SUSPECT
    assert found.evaluation is not None
    assert "wrong when it was measured again: output out" in found.evaluation.error
    assert [(one.kernel, one.evaluation.status) for one in searching.finals(after)] == [
        (result.winner.kernel.id, Status.VERIFIED),
        (liar.id, Status.WRONG),
    ]


def faster(verdict: Evaluation) -> Evaluation:
    """The same verdict with a time that nothing else comes near."""
    assert verdict.measurement is not None
    kernel = Timing(tuple(sample / 100 for sample in verdict.measurement.kernel.samples))
    return replace(verdict, measurement=replace(verdict.measurement, kernel=kernel, eager_speedup=Ratio(99, 98, 100)))


def entry(name: str, milliseconds: float, low: float, high: float, source: str = "") -> Entry:
    """A kernel whose speed-up over eager lies between `low` and `high`."""
    speedup = Ratio((low + high) / 2, low, high)
    measured = Measurement(Timing((milliseconds,)), Timing((10.0,)), speedup)
    accuracy = Accuracy(15, 1e-7, 1e-7, "float64", "float32-like")
    judged = Evaluation(Status.VERIFIED, "here", Protocol(0.01), "", accuracy, measured)
    return Entry(Kernel("r", 0, name, "cpp", source or name, ""), judged)


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        ([], []),
        ([("a", 1.0, 9.0, 11.0), ("b", 2.0, 4.0, 6.0)], ["a"]),
        ([("a", 1.0, 9.0, 11.0), ("b", 1.1, 8.0, 9.1)], ["a", "b"]),
        ([("a", 1.0, 9.0, 11.0), ("b", 1.1, 9.0, 9.9), ("c", 1.2, 8.0, 9.2), ("d", 1.3, 8.0, 9.1)], ["a", "b", "c"]),
        ([("a", 1.0, 9.0, 11.0, "x"), ("b", 1.1, 9.0, 11.0, "x"), ("c", 1.2, 9.0, 11.0)], ["a", "c"]),
    ],
)
def test_contenders_are_those_that_may_be_as_fast_each_source_once(
    entries: list[tuple[str, float, float, float]], names: list[str]
) -> None:
    found = contenders(Lineage(entry(*one) for one in entries))
    assert [one.kernel.ordinal for one in found] == names


def test_a_final_counts_on_its_device_and_under_todays_protocol() -> None:
    judged = entry("a", 1.0, 9.0, 11.0).evaluation
    assert judged is not None
    final = Remeasurement("k", Purpose.FINAL, judged)
    assert is_final(final, "here")
    assert not is_final(final, "there")
    assert not is_final(replace(final, purpose=Purpose.REBENCH), "here")
    earlier = replace(judged, protocol=replace(judged.protocol, version=Protocol.version - 1))
    assert not is_final(replace(final, evaluation=earlier), "here")
