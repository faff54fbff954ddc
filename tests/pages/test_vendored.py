"""Scripts that are others' work are what their projects published; ours are short and make no markup out of data."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import treesearch

STATIC = Path(treesearch.__file__).parent / "pages" / "static"
VENDORED = STATIC / "vendor"
OURS = sorted(path.name for path in STATIC.glob("*.js"))

LONGEST_SCRIPT = 300
MARKUP = re.compile(r"innerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write|\beval\(|new Function|\.html\(")


def listed() -> dict[str, str]:
    """Digests by file, as the README beside them tells."""
    rows = re.findall(r"^\| (\S+) \|.*\| ([0-9a-f]{64}) \|$", (VENDORED / "README.md").read_text(), re.MULTILINE)
    return dict(rows)


def test_vendored_files_are_the_published_ones() -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDORED.glob("*.min.*")}
    assert found == listed()


def test_every_vendored_project_is_there_with_its_licence() -> None:
    readme = (VENDORED / "README.md").read_text()
    named = set(re.findall(r"LICENSE-\w+", readme))
    assert named == {path.name for path in VENDORED.glob("LICENSE-*")} == {"LICENSE-d3", "LICENSE-uPlot"}


@pytest.mark.parametrize("path", sorted(STATIC.rglob("*.js")), ids=lambda path: path.name)
def test_a_script_can_be_written_into_a_page(path: Path) -> None:
    assert not re.search(r"</script|<!--", path.read_text(encoding="utf-8"), re.IGNORECASE)


@pytest.mark.parametrize("name", OURS)
def test_our_scripts_are_short_and_make_no_markup_of_data(name: str) -> None:
    text = (STATIC / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_SCRIPT
    assert MARKUP.findall(text) == []
