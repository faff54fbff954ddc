"""Sources as HTML."""

from __future__ import annotations

import re

import pytest

from treesearch.pages import code
from treesearch.pages.code import Line


def plain(html: str) -> str:
    import html as escapes

    return escapes.unescape(re.sub("<[^>]*>", "", html))


@pytest.mark.parametrize("language", ["cuda", "cpp", "module", "json", "no such language"])
def test_a_source_stays_what_it_is_whatever_it_holds(language: str) -> None:
    source = "\n  int x; // </code></pre><script>alert('1')</script> & \"\n\n"
    made = code.highlighted(source, language)
    assert plain(made) == source
    assert re.findall("<(?!/?span)[^>]*>", made) == []
    assert "style=" not in made


def test_control_characters_of_a_source_are_shown_as_such() -> None:
    assert plain(code.highlighted("a\0b\x1b[2J\u202e\n", "cpp")) == "a\ufffdb\ufffd[2J\ufffd\n"


def test_a_very_long_source_is_shown_without_colours() -> None:
    assert "<span" not in code.highlighted("int x;\n" * 40_000, "cpp")


def test_a_comparison_numbers_the_lines_of_both_sides() -> None:
    assert code.compared("a\nb\nc\n", "a\nB\nc\nd\n") == (
        Line("same", 1, 1, "a"),
        Line("removed", 2, None, "b"),
        Line("added", None, 2, "B"),
        Line("same", 3, 3, "c"),
        Line("added", None, 4, "d"),
    )


def test_a_comparison_leaves_out_what_is_far_from_any_change() -> None:
    before = [str(number) for number in range(100)]
    after = [*before[:50], "new", *before[50:99], "other"]
    lines = code.compared("\n".join(before), "\n".join(after))
    assert [line.text for line in lines if line.kind == "skipped"] == [
        "from line 48, now line 48",
        "from line 97, now line 98",
    ]
    assert len(lines) == 2 + 7 + 5


def test_equal_sources_have_no_comparison() -> None:
    assert code.compared("a\n", "a\n") == ()
