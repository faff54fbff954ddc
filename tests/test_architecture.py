"""The rooms of the package, who may import whom, and what the repository may hold.

Every import counts: at the top of a module, inside a function, under `if TYPE_CHECKING`, or by name through
`importlib.import_module("…")`.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "treesearch"

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "records", "resources"}),
    frozenset({"events", "roofline"}),
    frozenset({"languages", "meter"}),
    frozenset({"problem"}),
    frozenset({"answers", "feedback", "likeness", "lineage"}),
    frozenset({"prompts", "models", "archive"}),
    frozenset({"policies"}),
    frozenset({"evaluation"}),
    frozenset({"steps", "work", "audit"}),
    frozenset({"loop", "plan"}),
    frozenset({"forecast"}),
    frozenset({"export", "view"}),
    frozenset({"pages"}),
    frozenset({"api"}),
    frozenset({"testing"}),
    frozenset({"cli"}),
)
"""From the lowest up. A module imports from its own room and from lower layers, never sideways or upward."""

LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}

FRONT = "__init__"
"""`treesearch/__init__.py`: it offers `api` to users, so inside the package only rooms above `api` may use it."""

OWNERS: dict[str, frozenset[str]] = {
    "torch": frozenset({"problem", "evaluation"}),
    "jinja2": frozenset({"prompts", "export", "pages"}),
    "networkx": frozenset({"lineage"}),
    "litellm": frozenset({"models"}),
    "sqlalchemy": frozenset({"archive"}),
    "alembic": frozenset({"archive"}),
    "rich": frozenset({"view", "cli"}),
    "pygments": frozenset({"pages"}),
    "starlette": frozenset({"pages"}),
    "uvicorn": frozenset({"pages"}),
    "pyarrow": frozenset({"export"}),
    "click": frozenset({"cli"}),
}
"""Who may import what is not in the standard library. What is not listed here, nobody may import."""

STANDARD_LIBRARY_ONLY = (
    "errors",
    "records",
    "events",
    "resources",
    "roofline",
    "languages",
    "meter",
    "answers",
    "feedback",
    "likeness",
    "policies",
)

LONGEST_MODULE = 400
LONGEST_TEST = 500

DIRECTORIES = {"treesearch", "prompts", "problems", "tests", "examples", "benchmarks", "docs", ".ci"}
DOCUMENTS = {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"}
TOP_LEVEL = DIRECTORIES | DOCUMENTS | {"archive.db", "pyproject.toml", "Makefile", "constraints.txt", ".gitignore"}

SCRATCH = re.compile(
    r"(^|/)(scratch|tmp|temp|untitled|__pycache__)\b"  # somebody's corner
    r"|\.(orig|rej|bak|swp|log|pyc)$|~$|\.DS_Store$"  # what tools leave
    r"|_v\d+\.py$"  # a second version beside the first
)


# ── reading imports ─────────────────────────────────────────────────────────────────────────────


def room_of(module: tuple[str, ...]) -> str:
    """Room of a module path below the package: `("models", "retry")` is in `models`."""
    return module[0] if module else FRONT


def module_path(package: Path, file: Path) -> tuple[str, ...]:
    """Names from the package down to a file's module; a package's `__init__.py` is the package itself."""
    names = file.relative_to(package).with_suffix("").parts
    return names[:-1] if names[-1] == "__init__" else names


def imported_names(node: ast.AST, package: str, within: tuple[str, ...]) -> list[str]:
    """Dotted names that one syntax node imports, relative ones made absolute. `within` is the package it stands in."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            anchor = (package, *within[: len(within) - level + 1]) if level else ()
            base = ".".join([*anchor, *([module] if module else [])])
            return [f"{base}.{alias.name}" for alias in names]
        case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__")):
            return [a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return []


def deferred_nodes(tree: ast.Module) -> set[ast.AST]:
    """Nodes that do not run when the module is imported: in functions and under `if TYPE_CHECKING`."""
    deferred: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            deferred.update(ast.walk(node))
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            deferred.update(inner for statement in node.body for inner in ast.walk(statement))
    return deferred


def imports(package: Path, file: Path) -> Iterator[tuple[int, str, bool]]:
    """Line, dotted name and whether it waits, of every import of a file."""
    module = module_path(package, file)
    within = module if file.name == "__init__.py" else module[:-1]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    deferred = deferred_nodes(tree)
    for node in ast.walk(tree):
        for name in imported_names(node, package.name, within):
            yield getattr(node, "lineno", 0), name, node in deferred


# ── judging them ────────────────────────────────────────────────────────────────────────────────


def target_room(package: Path, name: str) -> str:
    """Room that `treesearch.…` names; a name that is no module is something that the front offers."""
    first = name.split(".")[1:2]
    if first and ((package / first[0]).is_dir() or (package / f"{first[0]}.py").is_file()):
        return first[0]
    return FRONT


def objection(package: Path, room: str, name: str, deferred: bool) -> str | None:
    """Why `room` may not import `name`; None if it may."""
    top = name.split(".")[0]
    if top == package.name:
        return objection_inside(room, target_room(package, name), deferred)
    if top in sys.stdlib_module_names:
        return None
    if top not in OWNERS:
        return f"{top} is nobody's dependency"
    return None if room in OWNERS[top] else f"{top} belongs to {', '.join(sorted(OWNERS[top]))}"


def objection_inside(room: str, target: str, deferred: bool) -> str | None:
    if room == target:
        return None
    if room == FRONT:
        return None if deferred or LEVEL.get(target) == 0 else f"importing the package would import {target}"
    level = LEVEL["api"] if target == FRONT else LEVEL.get(target)
    if level is None or room not in LEVEL:
        return f"{target if level is None else room} has no place among the layers"
    return None if level < LEVEL[room] else f"{target} is not below {room}"


def import_violations(package: Path) -> list[str]:
    found = []
    for file in sorted(package.rglob("*.py")):
        room = room_of(module_path(package, file))
        for line, name, deferred in imports(package, file):
            if why := objection(package, room, name, deferred):
                found.append(f"{file.relative_to(package.parent)}:{line}: {why}")
    return list(dict.fromkeys(found))


def unknown_rooms(package: Path) -> list[str]:
    rooms = {room_of(module_path(package, file)) for file in package.rglob("*.py")}
    return sorted(rooms - LEVEL.keys() - {FRONT})


def long_files(directory: Path, limit: int) -> list[str]:
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in sorted(directory.rglob("*.py"))}
    return [f"{file.relative_to(directory.parent)}: {n} lines" for file, n in lengths.items() if n > limit]


# ── this repository ─────────────────────────────────────────────────────────────────────────────


def test_imports_point_downward_and_dependencies_stay_with_their_owners() -> None:
    assert import_violations(PACKAGE) == []


def test_every_room_has_its_place_among_the_layers() -> None:
    assert unknown_rooms(PACKAGE) == []


def test_files_are_short() -> None:
    assert long_files(PACKAGE, LONGEST_MODULE) + long_files(ROOT / "tests", LONGEST_TEST) == []


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = f"import sys, treesearch; print(*sorted({set(OWNERS)} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == []


@pytest.fixture
def tracked() -> list[str]:
    """Paths of the files in version control."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode:
        pytest.skip(f"not a git checkout: {listing.stderr.strip()}")
    return [path for path in listing.stdout.split("\0") if path and (ROOT / path).is_file()]


def test_no_file_names_the_directory_of_this_checkout(tracked: list[str]) -> None:
    if len(ROOT.parts) < 3:
        pytest.skip(f"{ROOT} is too short a path to look for")
    place = re.compile(rb"(?<![\w.-])" + re.escape(bytes(ROOT)) + rb"(?![\w.-])")
    assert [path for path in tracked if place.search((ROOT / path).read_bytes())] == []


def test_the_repository_holds_no_scratch(tracked: list[str]) -> None:
    assert {path.split("/")[0] for path in tracked} - TOP_LEVEL == set()
    assert [path for path in tracked if SCRATCH.search(path)] == []


# ── the checks themselves, on small trees ───────────────────────────────────────────────────────


def tree(directory: Path, files: dict[str, str]) -> Path:
    """A package named like ours that holds the given files, by path below it."""
    package = directory / "treesearch"
    for path, text in files.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text)
    return package


def test_downward_imports_pass(tmp_path: Path) -> None:
    files = {
        "__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from treesearch.api import search\n",
        "errors.py": "import os.path\n",
        "models/__init__.py": "from .retry import ask\nfrom ..errors import ModelError\n",
        "models/retry.py": "from . import ask\nfrom treesearch import errors\nimport litellm\n",
        "api.py": "def search(): from treesearch import errors, models\n",
        "cli/__init__.py": "import click\nfrom treesearch import search\n",
    }
    assert import_violations(tree(tmp_path, files)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import treesearch.loop",
        "from treesearch.loop import run",
        "from treesearch import loop",
        "from ..loop import run",
        "from .. import loop",
        "def later():\n    from treesearch.loop import run",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import treesearch.loop",
        "import importlib\nimportlib.import_module('treesearch.loop')",
        "from treesearch import models",
        "import treesearch",
        "from treesearch import search",
    ],
)
def test_upward_and_sideways_imports_are_found(tmp_path: Path, statement: str) -> None:
    package = tree(tmp_path, {"archive/store.py": statement, "loop.py": "", "models/__init__.py": ""})
    assert len(import_violations(package)) == 1


@pytest.mark.parametrize("room", STANDARD_LIBRARY_ONLY)
def test_a_dependency_outside_its_owners_is_found(tmp_path: Path, room: str) -> None:
    statements = "".join(f"    import {dependency}.part\n" for dependency in OWNERS)
    package = tree(tmp_path, {f"{room}.py": f"def later():\n{statements}"})
    assert len(import_violations(package)) == len(OWNERS)


def test_a_dependency_without_an_owner_is_found(tmp_path: Path) -> None:
    found = import_violations(tree(tmp_path, {"cli/main.py": "from requests.adapters import HTTPAdapter\n"}))
    assert found == ["treesearch/cli/main.py:1: requests is nobody's dependency"]


def test_a_front_that_imports_eagerly_is_found(tmp_path: Path) -> None:
    package = tree(tmp_path, {"__init__.py": "from treesearch.api import search\n", "api.py": ""})
    assert import_violations(package) == ["treesearch/__init__.py:1: importing the package would import api"]


def test_a_room_without_a_place_is_found(tmp_path: Path) -> None:
    package = tree(tmp_path, {"errors.py": "", "utils.py": "", "helpers/deep/text.py": ""})
    assert unknown_rooms(package) == ["helpers", "utils"]


def test_a_long_file_is_found(tmp_path: Path) -> None:
    package = tree(tmp_path, {"errors.py": "x = 1\n" * 400, "cli/main.py": "x = 1\n" * 401})
    assert long_files(package, LONGEST_MODULE) == ["treesearch/cli/main.py: 401 lines"]


@pytest.mark.parametrize("path", ["tmp/a.py", "loop.py.orig", "treesearch/loop_v2.py", "run.log", "scratch.py"])
def test_scratch_is_found(path: str) -> None:
    assert SCRATCH.search(path)


@pytest.mark.parametrize("path", ["treesearch/cli/log.py", "treesearch/templates/page.html.j2", "prompts/ideas.md.j2"])
def test_ordinary_files_are_not_scratch(path: str) -> None:
    assert not SCRATCH.search(path)
