"""The wheel, built as a release is (sdist first, the wheel from it), works outside the checkout."""

from __future__ import annotations

import re
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.environments import fresh, run

ROOT = Path(__file__).resolve().parent.parent
NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv", ".treesearch", "__pycache__", ".*_cache", "build", "dist", "*.db-wal", "*.db-shm"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, place / "source", ignore=NOT_SOURCE)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", place / "dist", place / "source", cwd=place)
    (built,) = (place / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fresh(wheel, tmp_path_factory.mktemp("environment"))


def test_the_wheel_holds_prompts_problems_and_the_record(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for directory, pattern in (("prompts", "*.md.j2"), ("problems", "*.py")):
        shipped = {f"treesearch/_data/{directory}/{file.name}" for file in (ROOT / directory).glob(pattern)}
        assert shipped
        assert shipped <= names
    assert {"treesearch/_data/archive.db", "treesearch/py.typed"} <= names


def test_the_wheel_holds_every_file_of_the_package_and_nothing_of_the_rest(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith("treesearch/_data/")}
    package = {str(file.relative_to(ROOT)) for file in (ROOT / "treesearch").rglob("*") if file.is_file()}
    assert {name for name in names if ".dist-info/" not in name} == {p for p in package if "__pycache__" not in p}


def test_the_installed_package_is_not_the_checkout(installed: Path, tmp_path: Path) -> None:
    location = run(installed / "python", "-c", "import treesearch; print(treesearch.__file__)", cwd=tmp_path)
    assert Path(location).is_relative_to(installed.parent)


def test_the_installed_command_lists_the_shipped_problems(installed: Path, tmp_path: Path) -> None:
    listing = run(installed / "treesearch", "problems", "--json", cwd=tmp_path)
    for problem in (ROOT / "problems").glob("*.py"):
        assert f'"{problem.stem}"' in listing


def test_the_installed_command_shows_the_shipped_record(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "treesearch", "show", "--json", cwd=tmp_path)
    assert re.search(r'"status": ?"verified"', shown)
