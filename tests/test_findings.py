"""What searches teach: the tables are about what the record holds, and the pictures are the same each time."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import findings, plots
from benchmarks.findings import Searched
from treesearch import resources
from treesearch.errors import UsageError
from treesearch.lineage import Conclusion, Lineage
from treesearch.records import Category, Status


@pytest.fixture(scope="module")
def found() -> tuple[Searched, ...]:
    return findings.read([str(resources.record())])


@pytest.fixture(scope="module")
def layernorm(found: tuple[Searched, ...]) -> Searched:
    return next(one for one in found if one.name == "layernorm")


def cells(rows: str, name: str) -> list[str]:
    line = next(line for line in rows.splitlines() if line.startswith(f"| {name} "))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_every_idea_that_was_tried_counts_once_in_its_category(found: tuple[Searched, ...]) -> None:
    tried = [one for search in found for one in search.tried]
    ideas = {entry.kernel.proposal.id for search in found for entry in search.judged if entry.kernel.proposal}
    assert len(tried) == len(ideas)
    rows = list(findings.categories(tried))[1:]
    assert [row[0] for row in rows] == list(Category)
    assert sum(int(row[1]) for row in rows) == len(tried)
    for row in rows:
        assert sum(map(int, row[2 : 2 + len(Conclusion)])) == int(row[1])


def test_expectations_are_sorted_and_none_is_lost(found: tuple[Searched, ...]) -> None:
    tried = [one for search in found for one in search.tried]
    rows = list(findings.predictions(tried))[1:]
    assert sum(int(row[1]) for row in rows) == len(tried)
    assert sum(int(row[2]) for row in rows) == sum(one.outcome.ratio is not None for one in tried)


def test_rounds_have_the_best_so_far_and_how_many_were_right(layernorm: Searched) -> None:
    best = [layernorm.best_until(number) or 0.0 for number in layernorm.rounds]
    right = [one for one in layernorm.judged if one.verified and one.milliseconds]
    for number, told in zip(layernorm.rounds, best, strict=True):
        *_, leader = sorted(
            (one for one in right if one.kernel.round <= number), key=lambda one: -(one.milliseconds or 0)
        )
        measured = leader.evaluation.measurement if leader.evaluation else None
        assert measured is not None
        assert measured.compile_speedup is not None
        assert told == min(measured.compile_speedup.value, measured.eager_speedup.value)
    shown = cells(findings.table(findings.rounds([layernorm])), "layernorm")
    assert shown[:2] == [f"{best[0]:.2f}×; 4 of 4 right", f"{best[1]:.2f}×; 8 of 9 right"]


def test_a_winner_is_told_with_the_way_to_it(layernorm: Searched) -> None:
    shown = cells(findings.table(findings.winners([layernorm])), "layernorm")
    assert shown == [
        "`c7345f420b54`",
        "7 of 7",
        "2.18×",
        "5",
        "0",
        "memory access, data type and precision, asynchrony and latency hiding",
    ]


def test_ideas_that_come_twice_in_a_round_are_counted_once_and_a_lone_one_not_at_all(layernorm: Searched) -> None:
    """Three first ideas of round 1 kept all of a sample in an SM; one of round 5 was another's, nearly word by word."""
    assert cells(findings.table(findings.repeats([layernorm])), "layernorm") == ["28", "8", "3 of 8"]
    alone = [one for one in layernorm.proposals if one.ordinal == 0]
    shown = cells(findings.table(findings.repeats([replace(layernorm, proposals=tuple(alone))])), "layernorm")
    assert shown == [str(sum(not one.dropped for one in alone)), "0", "0 of 0"]


def test_repairs_count_with_what_had_failed(layernorm: Searched) -> None:
    table = findings.table(findings.repairs([layernorm]))
    assert cells(table, "crashed") == ["1", "1", "1", "1"]
    assert cells(table, "wrong") == ["1", "1", "1", "1"]
    assert "build failed" not in table


def test_tokens_are_called_uncounted_rather_than_none(layernorm: Searched) -> None:
    assert cells(findings.table(findings.asked([layernorm])), "layernorm")[-1] == "not counted"
    counted = tuple(
        (request, replace(answer, usage=replace(answer.usage, input_tokens=2, output_tokens=3)))
        for request, answer in layernorm.answered
    )
    shown = cells(findings.table(findings.asked([replace(layernorm, answered=counted)])), "layernorm")
    assert shown[-1] == f"{5 * len(counted):,}"


def test_a_search_without_a_winner_has_its_rows_as_well(layernorm: Searched) -> None:
    wrong = next(one for one in layernorm.judged if one.evaluation and one.evaluation.status is Status.WRONG)
    nothing = replace(layernorm, lineage=Lineage([wrong], ()))
    assert cells(findings.table(findings.winners([nothing])), "layernorm") == ["–"] * 6
    assert "layernorm" in findings.report([nothing])


def test_runs_are_named_by_id_or_problem_and_an_unknown_one_is_refused(layernorm: Searched) -> None:
    record = str(resources.record())
    for names in (["layernorm"], [layernorm.run.id]):
        assert [one.run for one in findings.read([record, record], names)] == [layernorm.run]
    with pytest.raises(UsageError, match="No run is there"):
        findings.read([record], ["none"])


def test_pictures_are_whole_and_the_same_each_time(found: tuple[Searched, ...], tmp_path: Path) -> None:
    first, second = (list(plots.draw(found, tmp_path / name)) for name in ("one", "two"))
    assert [path.name for path in first] == ["rounds.svg", "predictions.svg", "kinds.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert ElementTree.parse(one).getroot().tag.endswith("svg")
    assert all(search.name in first[0].read_text() for search in found)
    assert all(str(category) in first[2].read_text() for category in Category)
