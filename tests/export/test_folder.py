"""The folder of an export: all or nothing, and never in the place of something else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from treesearch.errors import MachineError, UsageError
from treesearch.export import folder, manifest


def export(target: Path, subject: str = "k1", form: str = "module", **files: str) -> None:
    with folder.staged(target, form, subject) as work:
        folder.write(work, files)
        manifest.finish(work, form, subject, {})


def held(target: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in target.iterdir() if path.name != folder.MANIFEST}


def test_an_export_is_written_and_written_again(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "export"
    export(target, kernel="first")
    (target / "__pycache__").mkdir()
    export(target, other="second")
    assert held(target) == {"other": "second"}
    assert [path.name for path in target.parent.iterdir()] == ["export"], "nothing else is left"


def test_an_empty_folder_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    export(tmp_path / "empty", kernel="x")
    assert held(tmp_path / "empty") == {"kernel": "x"}


@pytest.mark.parametrize(
    ("subject", "form", "said"),
    [("k2", "module", "holds another export"), ("k1", "kernelbench", "holds another export")],
)
def test_another_export_stays(tmp_path: Path, subject: str, form: str, said: str) -> None:
    export(tmp_path / "mine", kernel="x")
    with pytest.raises(UsageError, match=said):
        export(tmp_path / "mine", subject, form, kernel="y")
    assert held(tmp_path / "mine") == {"kernel": "x"}


@pytest.mark.parametrize("changed", ["kernel", "notes.txt"])
def test_what_somebody_changed_or_added_stays(tmp_path: Path, changed: str) -> None:
    export(tmp_path / "mine", kernel="x")
    (tmp_path / "mine" / changed).write_text("by hand")
    with pytest.raises(UsageError, match="changed or added"):
        export(tmp_path / "mine", kernel="y")
    assert held(tmp_path / "mine")[changed] == "by hand"


@pytest.mark.parametrize("manifest_text", [None, "[]", "no json", '{"format": "module"}'])
def test_a_foreign_folder_stays(tmp_path: Path, manifest_text: str | None) -> None:
    (tmp_path / "paper.tex").write_text("years of work")
    if manifest_text is not None:
        (tmp_path / folder.MANIFEST).write_text(manifest_text)
    with pytest.raises(UsageError, match="name a new"):
        export(tmp_path, kernel="x")
    assert (tmp_path / "paper.tex").read_text() == "years of work"


def test_a_file_or_a_link_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    export(tmp_path / "real", kernel="x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("file", "link"):
        with pytest.raises(UsageError, match="is no folder"):
            export(tmp_path / name, kernel="y")
    assert held(tmp_path / "real") == {"kernel": "x"}


def test_a_place_below_a_file_is_known_to_be_none_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match=r"/file is no folder; name another place"):
        folder.check(tmp_path / "file" / "below" / "export", "module", "k")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_known_before_anything_is_made(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(MachineError, match="cannot be written"):
        folder.check(tmp_path / "export", "module", "k")


class Interrupting(str):
    """A text that Ctrl-C is pressed over while it is written."""

    def encode(self, *_: str) -> bytes:
        raise KeyboardInterrupt


@pytest.mark.parametrize("earlier", [True, False])
def test_an_interruption_leaves_nothing_half(tmp_path: Path, earlier: bool) -> None:
    target = tmp_path / "mine"
    if earlier:
        export(target, kernel="x")
    with pytest.raises(KeyboardInterrupt):
        export(target, half=Interrupting("done"))
    assert [path.name for path in tmp_path.iterdir()] == (["mine"] if earlier else [])
    assert not earlier or held(target) == {"kernel": "x"}


def test_the_manifest_has_the_hash_of_every_file(tmp_path: Path) -> None:
    with folder.staged(tmp_path / "mine", "module", "k1") as work:
        folder.write(work, {"deep/kernel.cu": "x", "bytes.bin": b"\0\1"})
        made = manifest.finish(work, "module", "k1", {"more": 1})
    assert list(made["files"]) == ["bytes.bin", "deep/kernel.cu"]
    assert made["files"]["deep/kernel.cu"] == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert (made["human_reviewed"], made["more"]) == (False, 1)
