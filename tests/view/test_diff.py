"""What differs between two kernels."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.view.test_views import DEVICE, HOSTILE, IDEA, RUN, harmless, verified
from treesearch.lineage import Lineage
from treesearch.records import Edge, Entry, Kernel, Proposal, Ratio, Relation
from treesearch.view import diff
from treesearch.view.diff import Side

OLD = "".join(f"line {number}\n" for number in range(40))
NEW = OLD.replace("line 7\n", "line seven\n") + "the end"


def sides(old: str = OLD, new: str = NEW, in_turn: Ratio | None = None) -> tuple[Side, Side]:
    """A kernel and one that refines it; `in_turn` is what launching both in turn has shown."""
    first = verified(Kernel("r1", 0, "0.0", "cpp", old, ""), 2.0)
    made = verified(Kernel("r1", 1, "0.0", "cpp", new, "", Proposal("r1", 1, 0, first.kernel.id, "", IDEA)), 1.0)
    assert made.evaluation
    assert made.evaluation.measurement
    measured = replace(made.evaluation.measurement, parent_speedup=in_turn)
    made = Entry(made.kernel, replace(made.evaluation, measurement=measured))
    lineage = Lineage([first, made], [Edge(first.kernel.id, made.kernel.id, Relation.REFINES)])
    return Side(first, lineage, RUN, DEVICE), Side(made, lineage, RUN, DEVICE)


@pytest.mark.skipif(shutil.which("patch") is None, reason="no program called patch")
@pytest.mark.parametrize(
    ("old", "new"),
    [(OLD, NEW), (NEW, OLD), (OLD, ""), ("", NEW), ("a\u2028b\x0cc\n", "a\u2028b\x0cd\n"), ("no end", "no end!")],
)
def test_patch_makes_the_one_source_of_the_other(tmp_path: Path, old: str, new: str) -> None:
    file = tmp_path / "kernel.cpp"
    file.write_text(old)
    head, body = "# what came of both\n", diff.as_json(*sides(old, new))["diff"]
    done = subprocess.run(
        ["patch", str(file)], input=head + body, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert (file.read_text() if file.exists() else "") == new


def test_the_head_says_both_times_and_ideas_in_lines_that_patch_skips() -> None:
    old, new = sides()
    lines = diff.unified(old, new).split("\n")
    assert lines[0] == f"# {old.id}  run r1 round 0 · verified 2 ms, 2.00× · first kernel"
    assert lines[1].startswith(f"# {new.id}  run r1 round 1 · verified 1 ms, 4.00× · \ufffd[2J[bold]")
    assert lines[2] == "# by their verdicts, the second is 2.00× as fast as the first"
    assert lines[3:5] == [f"--- {old.id}.cpp", f"+++ {new.id}.cpp"]
    assert "-line 7" in lines
    assert lines[-2:] == ["+the end", "\\ No newline at end of file"]


def test_the_gain_is_what_launching_in_turn_has_shown_where_that_was_done() -> None:
    old, new = sides(in_turn=Ratio(1.5, 1.4, 1.6))
    assert "launched in turn, the second is 1.50× (1.40–1.60) as fast" in diff.unified(old, new)
    assert "in turn" not in diff.unified(new, new)
    assert diff.as_json(old, new)["speedup_in_turn"] == 1.5


def test_times_of_other_devices_or_without_a_verdict_are_not_compared() -> None:
    old, new = sides()
    elsewhere = replace(new, device=replace(DEVICE, name="H100"))
    assert "their times do not compare" in diff.unified(old, elsewhere)
    assert "not known without two times" in diff.unified(replace(old, entry=Entry(old.entry.kernel)), new)


def test_control_characters_do_not_reach_a_terminal_and_json_keeps_them() -> None:
    old, new = sides(f"// {HOSTILE}\n", f"// {HOSTILE}!\n")
    written = diff.unified(old, new)
    assert harmless(written)
    assert "# control characters are shown as \ufffd" in written
    assert f"+// {HOSTILE}!" in diff.as_json(old, new)["diff"]


def test_equal_sources_are_said_to_be_equal() -> None:
    assert diff.unified(*sides(OLD, OLD)).endswith("# the sources are equal")


def test_colours_tell_what_was_added_and_what_is_gone() -> None:
    text = diff.coloured(diff.unified(*sides()))
    styles = {text.plain[span.start] for span in text.spans if span.style in ("green", "red", "cyan")}
    assert styles == {"+", "-", "@"}
