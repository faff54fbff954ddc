"""The line that holds what was looked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.view.test_views import HOSTILE, RUN, harmless, printed
from treesearch.archive import Hit
from treesearch.archive.searching import Where
from treesearch.view import search

FAR = "x" * 500


@pytest.mark.parametrize(
    ("whole", "wanted", "expected"),
    [
        ("one\n  two Tiles \nthree", "tile", (2, "two Tiles")),
        ("a.b\na+b", "a+b", (2, "a+b")),
        ("first\nits end\nhere", "end\nhere", (2, "its end")),
        ("said otherwise", "absent", (1, "said otherwise")),
        (f"tile {FAR}", "tile", (1, f"tile {'x' * 154}…")),
        (f"{FAR} tile of {FAR}", "TILE", (1, f"…{'x' * 39} tile of {'x' * 111}…")),
        ("line\r\nother", "other", (2, "other")),
    ],
)
def test_a_line_is_numbered_and_cut_around_what_was_found(whole: str, wanted: str, expected: tuple[int, str]) -> None:
    assert search.line_of(whole, wanted) == expected


def hit(where: Where, text: str) -> Hit:
    return Hit(replace(RUN, problem_name=HOSTILE), 2, where, "abc", text)


def test_each_hit_has_its_place_and_its_line_fit_for_a_terminal() -> None:
    found = [hit(Where.CODE, f"\n// tile {HOSTILE}"), hit(Where.IDEA, "Tile it")]
    written = printed(search.listed(found, "tile", more=True))
    assert harmless(written)
    lines = written.splitlines()
    assert lines[0].startswith("code   abc")
    assert lines[0].endswith("run r1, round 2, line 2")
    assert lines[1].strip().startswith("// tile \ufffd[2J[bold]")
    assert lines[2].endswith("run r1, round 2")
    assert lines[-1] == "there are more; --limit shows them"
    assert "there are more" not in printed(search.listed(found, "tile", more=False))


def test_json_names_the_place_and_the_line() -> None:
    whole = search.as_json([hit(Where.ANSWER, "a\ntile")], "tile", more=False)
    assert (
        whole["hits"][0].items() >= {"where": "answer", "id": "abc", "run": "r1", "number": 2, "line": "tile"}.items()
    )
