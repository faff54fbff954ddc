"""A run as one file, which asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.pages.stock import Stock, fill
from tests.steps import scripted
from treesearch.archive import Archive
from treesearch.pages import assets, study
from treesearch.pages import report as reports


class Seen(HTMLParser):
    """Ids, references, and the texts of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.inlined: list[tuple[str, str]] = []
        self.headings: list[int] = []
        self._within = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.references += [found[name] or "" for name in ("href", "src") if name in found]
        self.headings += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        self._within = tag if tag == "style" or (tag == "script" and "type" not in found) else ""

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within:
            self.inlined.append((self._within, data))


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return fill(tmp_path_factory.mktemp("reported") / "archive.db")


@pytest.fixture(scope="module")
def page(stock: Stock) -> str:
    with Archive(stock.path, read_only=True) as archive:
        return reports.report(study.of(archive, stock.run))


@pytest.fixture(scope="module")
def seen(page: str) -> Seen:
    return Seen(page)


def test_it_refers_to_nothing_but_itself(seen: Seen) -> None:
    outward = [one for one in seen.references if not one.startswith(("#", "data:image/svg+xml,"))]
    assert outward == []
    assert {one[1:] for one in seen.references if one.startswith("#")} - set(seen.ids) == set()


def test_no_two_parts_have_one_name(seen: Seen) -> None:
    assert sorted(seen.ids) == sorted(set(seen.ids))


def test_headings_follow_one_another(seen: Seen) -> None:
    assert seen.headings[0] == 1
    assert [(a, b) for a, b in zip(seen.headings, seen.headings[1:], strict=False) if b > a + 1] == []


def test_its_policy_allows_what_it_holds_and_nothing_else(page: str, seen: Seen) -> None:
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert found
    policy = found[1].replace("&#39;", "'")
    for tag, text in seen.inlined:
        hashed = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert re.search(rf"{tag}-src [^;]*'sha256-{re.escape(hashed)}'", policy)
    assert policy.startswith("default-src 'none'; script-src ")
    assert "unsafe" not in policy
    assert "connect-src" not in policy


def test_no_script_or_style_of_ours_ends_its_own_element() -> None:
    held = assets.inlined()
    assert held.styles
    assert [
        one for one in (*held.styles, *held.scripts) if re.search("</(script|style)|<!--", one, re.IGNORECASE)
    ] == []


def test_it_opens_on_the_winning_line_and_tells_of_every_kernel(stock: Stock, page: str, seen: Seen) -> None:
    assert page.index("The winning line") < page.index("Ideas")
    for kernel in (stock.root, stock.broken, stock.repair, stock.slow, stock.suspect, stock.due):
        assert f"kernel-{kernel}" in seen.ids
        assert f"#kernel-{kernel}" in seen.references


def test_nothing_that_a_model_wrote_becomes_markup(page: str) -> None:
    assert "<script>alert" not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", page)


def test_a_large_run_is_told_as_far_as_there_is_room(stock: Stock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST", 4)
    with Archive(stock.path, read_only=True) as archive:
        seen = Seen(reports.report(study.of(archive, stock.run)))
    detailed = {id.removeprefix("kernel-") for id in seen.ids if re.fullmatch("kernel-[0-9a-f]{12}", id)}
    assert detailed >= {stock.root, stock.broken, stock.repair}
    assert len(detailed) == 4
    assert {one[1:] for one in seen.references if one.startswith("#")} - set(seen.ids) == set()


def test_the_command_writes_a_file_whole(stock: Stock, tmp_path: Path) -> None:
    words = ("report", stock.run.id, "--archive", str(stock.path))
    done = scripted.typed(*words, "-o", "run.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Wrote run.html: ")
    assert (tmp_path / "run.html").read_text().endswith("</html>")
    assert [one.name for one in tmp_path.iterdir()] == ["run.html"]
    failed = scripted.typed(*words, "-o", "absent/run.html", cwd=tmp_path)
    assert failed.returncode == 2
    assert "cannot be written" in failed.stderr


def test_every_style_and_script_that_lies_there_is_named_and_every_name_lies_there() -> None:
    found = [file for suffix in ("css", "js") for file in assets.FOLDER.rglob(f"*.{suffix}")]
    there = {file.relative_to(assets.FOLDER).as_posix() for file in found}
    assert there == {*assets.STYLES, *assets.SCRIPTS}
    assert set(assets.ALONE) <= set(assets.SCRIPTS)
