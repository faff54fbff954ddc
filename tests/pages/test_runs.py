"""What the page of a run says, before it is HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.stock import HARM, Stock, fill
from treesearch.archive import Archive
from treesearch.pages import charts, study
from treesearch.pages.links import Filed, Served
from treesearch.pages.runs import RunPage, page
from treesearch.records import Category
from treesearch.roofline import floor


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return fill(tmp_path_factory.mktemp("runs") / "archive.db")


@pytest.fixture(scope="module")
def shown(stock: Stock) -> Iterator[RunPage]:
    with Archive(stock.path, read_only=True) as archive:
        yield page(study.of(archive, stock.run))


def test_the_winning_line_tells_each_step_and_what_it_gained(stock: Stock, shown: RunPage) -> None:
    told = [(step.number, step.row.id, step.row.status, step.gain) for step in shown.steps]
    assert told == [
        (1, stock.root, "verified", None),
        (2, stock.broken, "build failed", None),
        (3, stock.repair, "verified", pytest.approx(2.5)),
    ]


def test_the_winner_was_measured_again_after_the_selection(stock: Stock, shown: RunPage) -> None:
    assert shown.winner
    assert shown.winner.id == stock.repair
    assert shown.final
    assert shown.final.milliseconds == 0.41


def test_kernels_say_how_they_stand(stock: Stock, shown: RunPage) -> None:
    assert {row.id: row.status for row in shown.rows} == {
        stock.root: "verified",
        stock.broken: "build failed",
        stock.repair: "verified",
        stock.slow: "verified",
        stock.suspect: "suspect",
        stock.due: "due",
    }
    assert shown.row(stock.suspect).note == "suspect: it reads its neighbour's answer"
    assert "error: expected" in shown.row(stock.broken).note


def test_steps_are_the_kernels_that_were_faster_than_all_before(stock: Stock, shown: RunPage) -> None:
    assert [row.id for row in shown.rows if row.step] == [stock.root, stock.repair]
    assert [row.id for row in shown.rows if row.winning] == [stock.root, stock.broken, stock.repair]


def test_ideas_are_told_by_category_with_what_they_promised_and_gained(shown: RunPage) -> None:
    (memory,) = shown.categories
    assert (memory.category, memory.ideas, memory.tried) == (Category.MEMORY, 2, 2)
    assert (memory.confirmed, memory.refuted, memory.inconclusive) == (1, 1, 0)
    assert memory.predicted == pytest.approx((2.0 + 1.5) / 2)
    assert memory.measured == pytest.approx((1 / 0.4 + 1 / 1.25) / 2)


def test_failures_are_counted_by_kind_with_an_example(stock: Stock, shown: RunPage) -> None:
    assert {one.status: (one.count, one.example.id) for one in shown.failures} == {
        "build failed": (1, stock.broken),
        "suspect": (1, stock.suspect),
    }


def test_an_unknown_price_is_never_nothing(shown: RunPage) -> None:
    bills = {one.model: one.spending for one in shown.accounts}
    assert bills["openai/thinker"].cost_usd == 0.5
    assert (bills["openai/writer"].cost_usd, bills["openai/writer"].unpriced) == (None, 6)
    assert bills["openai/writer"].input_tokens == 6000


def test_the_charts_data_hold_every_kernel(stock: Stock, shown: RunPage) -> None:
    data = charts.run(shown, Served())
    assert data["winning_line"] == [stock.root, stock.broken, stock.repair]
    assert data["baselines"]["eager_ms"] == 2.0
    assert data["baselines"]["compile_ms"] == 1.0
    bound = floor(shown.study.problem, shown.study.device)
    assert bound
    assert data["baselines"]["floor_ms"] == bound.milliseconds
    assert (data["state"], data["rounds"], data["version"]) == ("done", 2, shown.study.version)
    columns = data["kernels"]
    assert {len(column) for column in columns.values()} == {6}
    place = {id: number for number, id in enumerate(columns["id"])}
    repair, due, broken = place[stock.repair], place[stock.due], place[stock.broken]
    assert (columns["parent"][repair], columns["milliseconds"][repair]) == (broken, 0.4)
    assert data["relations"][columns["relation"][repair]] == "repairs"
    assert (columns["parent"][place[stock.root]], data["relations"][columns["relation"][place[stock.root]]]) == (
        None,
        None,
    )
    assert repair in data["steps"]
    assert (data["statuses"][columns["status"][due]], columns["milliseconds"][due]) == (None, None)
    assert data["statuses"][columns["status"][broken]] == "build_failed"
    assert columns["idea"][repair] == columns["idea"][broken]
    assert data["ideas"][columns["idea"][repair]]["category"] == "memory access"
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_the_charts_data_say_which_kernels_have_a_page(stock: Stock, shown: RunPage) -> None:
    assert (charts.run(shown, Served())["pages"], charts.run(shown, Served())["paged"]) == ("/kernels/", None)
    data = charts.run(shown, Filed(frozenset({stock.repair})))
    assert [data["kernels"]["id"][place] for place in data["paged"]] == [stock.repair]
    assert data["pages"] == "#kernel-"


def test_the_charts_data_hold_no_control_characters(shown: RunPage) -> None:
    titles = {one["title"] for one in charts.run(shown, Served())["ideas"]}
    assert all(title.isprintable() for title in titles)
    assert any(HARM[:9] in title for title in titles)


def test_of_many_kernels_the_winning_line_the_fastest_and_the_newest_are_listed(stock: Stock, shown: RunPage) -> None:
    assert shown.listed(6) == shown.rows
    assert [row.id for row in shown.listed(4)] == [stock.root, stock.broken, stock.repair, stock.due]
    assert [row.id for row in shown.listed(3)] == [stock.root, stock.broken, stock.repair]


def test_a_run_without_kernels_has_a_page(tmp_path: Path) -> None:
    from tests.view.test_hardware import H100, NORM
    from treesearch.records import Config

    with Archive(tmp_path / "archive.db") as archive:
        run = archive.open_run(NORM, Config(("x",), "cuda"), H100)
        shown = page(study.of(archive, run))
        assert (shown.rows, shown.steps, shown.winner, shown.live) == ((), (), None, True)
        assert charts.run(shown, Served())["baselines"]["eager_ms"] is None
