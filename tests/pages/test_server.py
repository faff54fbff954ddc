"""The pages as a browser gets them, from a real server on a real archive."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.pages.serving import Asked, serving, told
from tests.pages.stock import Stock, add, fill
from treesearch.archive import Archive
from treesearch.cli import treesearch
from treesearch.pages import documents


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return fill(tmp_path_factory.mktemp("served") / "archive.db")


@pytest.fixture(scope="module")
def asked(stock: Stock) -> Iterator[Asked]:
    with serving(stock.path) as found:
        yield found


def every_page(stock: Stock) -> list[str]:
    run = stock.run
    kernels = [stock.root, stock.broken, stock.repair, stock.suspect, stock.due]
    pages = [
        "/",
        f"/problems/{run.problem}",
        f"/runs/{run.id}",
        f"/runs/{run.id}/everything",
        f"/compare?run={run.id}&axis=dollars",
    ]
    return [*pages, *(f"/kernels/{id}" for id in kernels)]


# ── what they show ──────────────────────────────────────────────────────────────────────────────


def test_one_page_leads_to_the_next(stock: Stock, asked: Asked) -> None:
    run = stock.run
    assert f'href="/problems/{run.problem}"' in asked.get("/").text
    assert f'href="/runs/{run.id}"' in asked.get(f"/problems/{run.problem}").text
    assert f'href="/kernels/{stock.repair}"' in asked.get(f"/runs/{run.id}").text
    assert f'href="/kernels/{stock.broken}"' in asked.get(f"/kernels/{stock.repair}").text


def test_a_runs_table_has_every_kernel_without_any_script(stock: Stock, asked: Asked) -> None:
    page = asked.get(f"/runs/{stock.run.id}").text
    named = re.findall(r'<tr data-kernel="(\w+)"', page)
    assert set(named) == {stock.root, stock.broken, stock.repair, stock.slow, stock.suspect, stock.due}


def test_a_long_runs_page_leads_to_all_of_its_kernels(
    stock: Stock, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MOST", 3)
    documents.run.cache_clear()
    page = asked.get(f"/runs/{stock.run.id}").text
    documents.run.cache_clear()
    assert len(re.findall("<tr data-kernel", page)) == 3
    everything = f"/runs/{stock.run.id}/everything"
    assert f'<a href="{everything}">All 6 kernels</a>' in page
    assert len(re.findall("<tr data-kernel", asked.get(everything).text)) == 6
    monkeypatch.setattr(documents, "PART", 4)
    parts = [asked.get(f"{everything}?part={part}").text for part in (1, 2)]
    assert [len(re.findall("<tr data-kernel", part)) for part in parts] == [4, 2]
    assert f'href="{everything}?part=2"' in parts[0]
    assert [asked.get(f"{everything}?part={part}").status for part in ("0", "3", "-1", "%C2%B2", "9" * 5000)] == [
        404
    ] * 5


def test_a_runs_page_embeds_what_the_charts_draw(stock: Stock, asked: Asked) -> None:
    page = asked.get(f"/runs/{stock.run.id}").text
    found = re.search(r'<script type="application/json" id="run-data">(.*?)</script>', page, re.DOTALL)
    assert found
    assert not set("<>&") & set(found[1])
    data = json.loads(found[1])
    assert data["winning_line"] == [stock.root, stock.broken, stock.repair]
    assert (data["pages"], data["paged"]) == ("/kernels/", None)
    assert stock.due in data["kernels"]["id"]
    for figure in ("speed-chart", "lineage-tree"):
        assert re.search(rf'<figure id="{figure}"[^>]* hidden>', page)


def test_a_kernel_shows_what_it_changed_and_its_source_in_colours(stock: Stock, asked: Asked) -> None:
    page = asked.get(f"/kernels/{stock.slow}").text
    assert re.search(r'<tr class="added">.*// vectored &amp; &lt;fast&gt;', page)
    assert '<span class="kt">int</span>' in page
    assert "style=" not in page


def test_a_failed_kernel_says_first_what_went_wrong(stock: Stock, asked: Asked) -> None:
    page = asked.get(f"/kernels/{stock.broken}").text
    assert page.index("What went wrong") < page.index("kernel.cu:1: error") < page.index(">Idea<")


def test_a_kernel_shows_its_figures_its_limits_and_what_came_later(stock: Stock, asked: Asked) -> None:
    page = asked.get(f"/kernels/{stock.repair}").text
    assert "<strong>0.41 ms</strong>" in page
    assert "<strong>0.4 ms</strong>" in page
    assert "<strong>5.00×</strong>" in page
    assert "1.0e-06 of 0.01 allowed" in page
    assert "namespaces, seccomp" in page
    assert "memory bandwidth" in page
    assert "Which ideas?" in page
    assert f"treesearch export {stock.repair}" in page
    assert "treesearch export" not in asked.get(f"/kernels/{stock.suspect}").text


def test_the_commands_on_a_kernels_page_can_be_typed(stock: Stock, asked: Asked) -> None:
    commands = re.findall(r"treesearch ((?:log|export|rebench) [^<\n]+)", asked.get(f"/kernels/{stock.repair}").text)
    assert len(commands) == 5
    for name, *words in map(str.split, commands):
        found = treesearch.get_command(click.Context(treesearch), name)
        assert found
        found.make_context(name, words)


def test_runs_are_compared_along_an_axis(stock: Stock, asked: Asked) -> None:
    page = asked.get(f"/compare?run={stock.run.id}&axis=evaluations").text
    found = re.search(r'id="compare-data">(.*?)</script>', page)
    assert found
    data = json.loads(found[1])
    assert data["axis"] == "evaluations"
    assert data["runs"][0]["points"] == [[1, 1.0], [3, 0.4], [5, 0.4]]
    assert "answers unpriced" in asked.get(f"/compare?run={stock.run.id}&axis=dollars").text


def test_a_run_that_is_named_twice_is_compared_once(stock: Stock, asked: Asked) -> None:
    id = stock.run.id
    named = asked.get(f"/compare?run={id}&run={id[:-1]}")
    assert named.text == asked.get(f"/compare?run={id}").text


@pytest.mark.parametrize(
    "path", ["/runs/feed", "/kernels/feed", "/problems/feed", "/compare", "/compare?run=feed", "/nowhere", "/static/"]
)
def test_what_is_not_there_is_said_on_a_page(asked: Asked, path: str) -> None:
    reply = asked.get(path)
    assert reply.status == 404
    assert "<h1>Not here</h1>" in reply.text


def test_an_unknown_axis_names_those_there_are(stock: Stock, asked: Asked) -> None:
    assert "round, evaluations, dollars, minutes" in asked.get(f"/compare?run={stock.run.id}&axis=luck").text


# ── what they let nobody do ─────────────────────────────────────────────────────────────────────


def test_nothing_that_a_model_wrote_becomes_markup(stock: Stock, asked: Asked) -> None:
    for path in every_page(stock):
        page = asked.get(path).text
        assert "<script>alert" not in page, path
        assert page.count("<script ") + page.count("<script>") == page.count("</script>"), path
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", page), path


def test_every_answer_forbids_what_pages_do_not_need(stock: Stock, asked: Asked) -> None:
    for path in [*every_page(stock), "/nowhere", "/static/style.css", "/static/../server.py"]:
        headers = asked.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_pages_refer_to_nothing_outside(stock: Stock, asked: Asked) -> None:
    for path in every_page(stock):
        named = re.findall(r'(?:href|src)="([^"]*)"', asked.get(path).text)
        assert [one for one in named if not one.startswith(("/", "#", "data:image/svg+xml,"))] == []
        assert [one for one in named if one.startswith("//")] == []


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8731", "127.0.0.1.evil.example", "[::2]", ""])
def test_another_name_for_this_machine_gets_nothing(asked: Asked, host: str) -> None:
    assert asked.get("/", Host=host).status in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:8731"])
def test_this_machine_may_ask_under_its_own_names(asked: Asked, host: str) -> None:
    assert asked.get("/", Host=host).status == 200


def test_another_site_gets_nothing(asked: Asked) -> None:
    assert asked.get("/", Origin="http://evil.example").status == 403
    assert asked.get("/", Origin="null").status == 403
    assert asked.get("/", Origin=asked.url).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(stock: Stock, asked: Asked, method: str) -> None:
    for path in ("/", f"/runs/{stock.run.id}", "/static/style.css"):
        assert asked.get(path, method=method).status == 405


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd", "/static/vendor"]
)
def test_files_beside_the_styles_are_not_served(asked: Asked, path: str) -> None:
    assert asked.get(path).status == 404


def test_where_there_is_a_token_only_who_brings_it_reads(stock: Stock) -> None:
    with serving(stock.path, token="open-sesame") as asked:
        assert asked.get("/").status == 403
        assert asked.get("/static/style.css").status == 403
        assert asked.get("/?token=guess").status == 403
        assert asked.get("/", Cookie="treesearch-token=guess").status == 403
        admitted = asked.get(f"/compare?run={stock.run.id}&token=open-sesame", Host="bench.example")
        assert (admitted.status, admitted.headers["location"]) == (303, f"/compare?run={stock.run.id}")
        cookie = admitted.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert asked.get("/", Cookie=cookie.partition(";")[0], Host="bench.example").status == 200
        assert asked.get("//evil.example/?token=open-sesame").headers["location"] == "/evil.example/"


# ── what changes ────────────────────────────────────────────────────────────────────────────────


def test_listeners_hear_of_a_kernel_that_is_new(tmp_path: Path) -> None:
    stock = fill(tmp_path / "archive.db", finished=False)
    path = f"/runs/{stock.run.id}"
    with Archive(stock.path) as archive, serving(stock.path) as asked:
        before = asked.get(path).text
        assert f'data-events="{path}/events"' in before
        with asked.events(f"{path}/events") as first, asked.events(f"{path}/events") as second:
            version = told(first)
            assert f'"version":"{version}"' in before
            assert told(second) == version
            new = add(archive, stock, "5.0", 0.3)
            assert told(first) != version
            assert told(second) != version
        after = asked.get(path).text
        assert f'"winning_line":["{stock.root}","{new.id}"]' in after


def test_a_run_that_has_ended_is_not_watched(stock: Stock, asked: Asked) -> None:
    assert "data-events" not in asked.get(f"/runs/{stock.run.id}").text


def test_an_archive_that_comes_later_is_found(stock: Stock, tmp_path: Path) -> None:
    with serving(awaited=tmp_path / "later.db") as asked:
        assert "There is no run yet" in asked.get("/").text
        later = fill(tmp_path / "later.db")
        assert f"/problems/{later.run.problem}" in asked.get("/").text
        assert asked.get(f"/kernels/{later.repair}").status == 200
