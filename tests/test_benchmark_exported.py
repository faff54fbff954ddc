"""An export's own time beside the archive's, here of a kernel for a CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import exported
from benchmarks.exported import Timed
from tests.export import made
from treesearch.export import formats
from treesearch.export.verifying import Verification


@pytest.mark.compiler
@pytest.mark.untimed
def test_a_module_is_timed_as_its_users_call_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formats.write(
        made.exported(), formats.FORMATS["module"], Verification(absent="it is not asked here"), tmp_path / "e"
    )
    assert exported.main([str(tmp_path / "e")]) == 0
    heads, _, row, *rest = capsys.readouterr().out.splitlines()
    assert heads.count("|") == row.count("|")
    assert "0.255 ms" in row
    assert rest == [], "there is no graph to compare on a CPU"


@pytest.mark.untimed
def test_a_folder_that_is_no_export_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({}))
    assert exported.main([str(tmp_path / "nowhere"), str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert f"{tmp_path / 'nowhere'}: FileNotFoundError" in said
    assert f"{tmp_path}: ValueError" in said


def test_the_share_is_of_the_time_within_a_graph() -> None:
    assert Timed("conv2d_kernel", 0.08, 0.082, 0.09).cells == (
        "conv2d_kernel", "0.08 ms", "0.082 ms", "102.5%", "0.09 ms",
    )  # fmt: skip
    assert Timed("softmax_kernel", 0.5, None, 0.49).cells[2:4] == ("–", "–")
