"""The corpus: one kernel a file, in a folder for each family of attacks, with what is expected of it at its top.

    // hostile: returns what the first call with these pointers returned
    // problem: scaled_relu
    // verdict: wrong
    // check: fresh-contents

`tests/audit/README.md` explains the keys. A file that does not keep to them is an error, with its line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from treesearch.errors import UsageError
from treesearch.evaluation.checks import Check
from treesearch.records import Label, Status

FAMILIES = (
    "async-escape",
    "timer-games",
    "reading-the-answer",
    "replaying-outputs",
    "derived-state",
    "phase-sensing",
    "distribution-sniffing",
    "partial-work",
    "degenerate-problem",
    "precision",
    "input-damage",
    "undefined-behaviour",
    "non-work",
    "harness-damage",
    "build-damage",
    "l2-tricks",
    "prompt-injection",
)
PROBLEMS = "problems"
"""Folder of the problems, beside those of the families."""
KINDS = ("hostile", "honest")
KEYS = (*KINDS, "problem", "verdict", "label", "check", "says", "device")
COMMENT = {".cpp": "//", ".cu": "//", ".py": "#"}
LANGUAGE = {".cpp": "cpp", ".cu": "cuda", ".py": "module"}
CUDA = "cuda"

Name = TypeVar("Name", bound=StrEnum)


@dataclass(frozen=True)
class Case:
    """One kernel of the corpus, and the verdict that it must get."""

    path: Path
    family: str
    hostile: bool
    about: str
    """How it cheats, or why it does not."""
    problem: Path
    verdicts: frozenset[Status]
    labels: frozenset[Label] = frozenset()
    """What the verdict must bear; it may bear more."""
    checks: frozenset[Check] = frozenset()
    """Checks without any one of which it would get another verdict."""
    says: tuple[str, ...] = ()
    """What the verdict's error must contain, one of them."""
    device: str = "cpu"
    """Kind of device that it runs on, `cpu` or `cuda`."""
    source: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """Such as `timer-games/forged_reply.cpp`."""
        return f"{self.family}/{self.path.name}"

    @property
    def language(self) -> str:
        """Name of its language, which this machine need not know."""
        return LANGUAGE[self.path.suffix]


def folder() -> Path:
    """Where the corpus lies. Raises UsageError outside a checkout: packages do not carry it."""
    found = Path(__file__).resolve().parents[2] / "tests" / "audit"
    if not (found / PROBLEMS).is_dir():
        raise UsageError(
            "The audit's kernels are not part of the installed package: they lie in the repository, under tests/audit. "
            "Run the audit from a checkout."
        )
    return found


def read(root: Path) -> tuple[Case, ...]:
    """Every kernel of the corpus, by family and name. Raises UsageError, with file and line, for a malformed one."""
    return tuple(case for home in _families(root) for case in _cases(root, home))


def _families(root: Path) -> Iterator[Path]:
    homes = {home.name: home for home in root.iterdir() if home.is_dir()}
    for name in sorted(homes):
        if name not in (*FAMILIES, PROBLEMS, "__pycache__"):
            raise UsageError(f"{homes[name]} is no family of attacks; there are {', '.join(FAMILIES)}.")
    yield from (homes[name] for name in FAMILIES if name in homes)


def _cases(root: Path, home: Path) -> Iterator[Case]:
    for path in sorted(home.iterdir()):
        if path.name == "__pycache__":
            continue
        if path.suffix not in LANGUAGE:
            raise UsageError(f"{path}: kernels end in {', '.join(LANGUAGE)}.")
        yield parse(path, root / PROBLEMS)


def choose(cases: Sequence[Case], families: Sequence[str] = (), names: Sequence[str] = ()) -> tuple[Case, ...]:
    """Those of the families, and of the names (`forged_reply`, `.cpp` or not, with the family or without).

    Raises UsageError for a family or a name that does not occur.
    """
    for family in families:
        if family not in FAMILIES:
            raise UsageError(f"There is no family {family!r}; choose among {', '.join(FAMILIES)}.")
    for name in names:
        if not any(name in _names(case) for case in cases):
            raise UsageError(f"The corpus has no kernel {name!r}; {_closest(name, cases)}.")
    return tuple(
        case
        for case in cases
        if (not families or case.family in families) and (not names or _names(case).intersection(names))
    )


def _closest(name: str, cases: Sequence[Case]) -> str:
    """What may have been meant, and where all names are: to judge everything, only to see them, takes long."""
    stems = {case.path.stem: f"{case.family}/{case.path.stem}" for case in cases}
    near = difflib.get_close_matches(name.rpartition("/")[2].partition(".")[0], stems, n=1, cutoff=0)
    return f"the closest is {stems[near[0]]}, and the files in {folder()} bear all names" if near else "it is empty"


def _names(case: Case) -> frozenset[str]:
    inside = f"{case.family}/"
    return frozenset((case.path.name, case.path.stem, inside + case.path.name, inside + case.path.stem))


# ── the lines at the top of a file ──────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Entry:
    """A key's value, and where it stands."""

    path: Path
    line: int
    value: str

    def error(self, what: str) -> UsageError:
        return UsageError(f"{self.path}:{self.line}: {what}.")


def parse(path: Path, problems: Path) -> Case:
    """One file of the corpus. Raises UsageError, with file and line, where its header is malformed."""
    try:
        source = path.read_bytes().decode()  # to the letter: line ends belong to what a kernel says
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {path}: {error}.") from error
    header = _header(path, source)
    start = _Entry(path, 1, "")
    kind = _kind(header, start)
    return Case(
        path=path,
        family=path.parent.name,
        hostile=kind == "hostile",
        about=header[kind].value,
        problem=_problem(header, start, problems),
        verdicts=_verdicts(header, start, kind),
        labels=_several(header, "label", Label, ","),
        checks=_several(header, "check", Check, ","),
        says=_words(header["says"]) if "says" in header else (),
        device=_device(header, path),
        source=source,
    )


def _header(path: Path, source: str) -> dict[str, _Entry]:
    """The `key: value` comments that a file begins with, up to a line that is none, or an empty comment."""
    sign = COMMENT[path.suffix]
    found: dict[str, _Entry] = {}
    for number, line in enumerate(source.split("\n"), start=1):
        if not line.startswith(sign) or not line.removeprefix(sign).strip():
            break
        key, colon, value = line.removeprefix(sign).strip().partition(":")
        entry = _Entry(path, number, value.strip())
        if not colon or key not in KEYS:
            raise entry.error(f"{key!r} is no key of a header; known are {', '.join(KEYS)}, and an empty line ends it")
        if key in found or not entry.value:
            raise entry.error(f"{key} needs one value and has {'two' if key in found else 'none'}")
        found[key] = entry
    return found


def _kind(header: dict[str, _Entry], start: _Entry) -> str:
    kinds = [kind for kind in KINDS if kind in header]
    if len(kinds) != 1:
        raise start.error("a header says either `hostile: how it cheats` or `honest: why it is fine`")
    return kinds[0]


def _problem(header: dict[str, _Entry], start: _Entry, problems: Path) -> Path:
    if "problem" not in header:
        raise start.error("the header names no problem")
    entry = header["problem"]
    path = problems / f"{entry.value}.py"
    if not path.is_file() or path.parent != problems:
        raise entry.error(f"there is no problem {entry.value!r} in {problems}")
    return path


def _verdicts(header: dict[str, _Entry], start: _Entry, kind: str) -> frozenset[Status]:
    given = _several(header, "verdict", Status, "|")
    if kind == "honest":
        if given - {Status.VERIFIED}:
            raise header["verdict"].error("an honest kernel is verified")
        return frozenset({Status.VERIFIED})
    if not given:
        raise start.error("the header of a hostile kernel needs a verdict")
    if Status.VERIFIED in given:
        raise header["verdict"].error("a hostile kernel that is verified has got through")
    return given


def _device(header: dict[str, _Entry], path: Path) -> str:
    if "device" not in header:
        return CUDA if LANGUAGE[path.suffix] == CUDA else "cpu"
    if header["device"].value != CUDA:
        raise header["device"].error(f"the only device that need be named is {CUDA}")
    return CUDA


def _several(header: dict[str, _Entry], key: str, known: type[Name], separator: str) -> frozenset[Name]:
    if key not in header:
        return frozenset()
    entry = header[key]
    return frozenset(_one(entry, key, word.strip(), known) for word in entry.value.split(separator))


def _words(entry: _Entry) -> tuple[str, ...]:
    """Alternatives, `|` between them. An empty one would be in any error."""
    found = tuple(words.strip() for words in entry.value.split("|"))
    if "" in found:
        raise entry.error("says has an empty alternative")
    return found


def _one(entry: _Entry, key: str, word: str, known: type[Name]) -> Name:
    try:
        return known(word)
    except ValueError:
        raise entry.error(f"{word!r} is no {key}; known are {', '.join(known)}") from None
