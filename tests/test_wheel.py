"""The wheel, built as a release is (sdist first, the wheel from it), works outside the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv", ".treesearch", "__pycache__", ".*_cache", "build", "dist", "*.db-wal", "*.db-shm"
)


def environment() -> dict[str, str]:
    """The environment without anything that could lead back to the checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, place / "source", ignore=NOT_SOURCE)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", place / "dist", place / "source", cwd=place)
    (built,) = (place / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`bin` of a fresh environment that holds the wheel, and this environment's packages but not its treesearch.

    A directory that is named in a `.pth` file joins the path, but `.pth` files inside it are not read: so the editable
    install of the checkout stays out.
    """
    place = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", place, cwd=place)
    python = place / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=place)
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).strip()
    Path(purelib, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin"


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
