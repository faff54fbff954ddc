"""What became of the corpus: what each kernel got, what each family amounts to, and both as text and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from treesearch.audit.corpus import FAMILIES, Case
from treesearch.evaluation.checks import NONE, Checks
from treesearch.records import Evaluation

INTERRUPTED = 130
LONGEST_LINE = 200


@dataclass(frozen=True)
class Result:
    """What one kernel got: a verdict, an error of the machine or of treesearch itself, or nothing for lack of means."""

    case: Case
    verdict: Evaluation | None = None
    error: str = ""
    """What went wrong that is not the kernel's verdict."""
    absent: str = ""
    """What this machine lacks to judge it."""
    seconds: float = 0.0
    again: bool = False
    """Its first verdict was suspect; this is the second one."""
    before: bool = False
    """It is from an audit before this one, which was stopped."""

    @property
    def ran(self) -> bool:
        return not self.absent

    @property
    def passed(self) -> bool:
        """A hostile kernel was caught, or an honest one accepted."""
        return self.ran and not self.objection

    @property
    def objection(self) -> str:
        """In what way the verdict is not the expected one; empty where it is."""
        if self.error:
            return self.error
        if self.verdict is None:
            return ""
        if self.verdict.status not in self.case.verdicts:
            return "the verdict is another one"
        if lacking := self.case.labels.difference(self.verdict.labels):
            return f"the verdict lacks the label {', '.join(sorted(lacking))}"
        said = not self.case.says or any(words in self.verdict.error for words in self.case.says)
        return "" if said else f"the verdict does not say {_quoted(self.case.says)}"

    @property
    def outcome(self) -> str:
        """`caught` or `accepted`, `missed` for either, `not run`."""
        if not self.ran:
            return "not run"
        if not self.passed:
            return "missed"
        return "caught" if self.case.hostile else "accepted"


@dataclass(frozen=True)
class Tally:
    """How many kernels of a family ran, and how many got what they should."""

    family: str
    hostile: int
    caught: int
    honest: int
    accepted: int
    not_run: int


@dataclass(frozen=True)
class Report:
    results: tuple[Result, ...]
    seconds: float
    without: Checks = NONE
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    """What could not be planted for attacks to find."""
    sandbox: str = ""
    """What stood around the kernels that ran on the CPU."""

    @property
    def misses(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.ran and not result.passed)

    @property
    def exit_code(self) -> int:
        return INTERRUPTED if self.interrupted else int(bool(self.misses))

    def families(self) -> tuple[Tally, ...]:
        groups = {name: [one for one in self.results if one.case.family == name] for name in FAMILIES}
        return tuple(_tally(name, group) for name, group in groups.items() if group)

    def total(self) -> Tally:
        return _tally("total", self.results)

    def absences(self) -> Counter[str]:
        """How many kernels did not run for want of what."""
        return Counter(result.absent for result in self.results if result.absent)


def _tally(name: str, results: Sequence[Result]) -> Tally:
    ran = [result for result in results if result.ran]
    return Tally(
        family=name,
        hostile=sum(result.case.hostile for result in ran),
        caught=sum(result.case.hostile and result.passed for result in ran),
        honest=sum(not result.case.hostile for result in ran),
        accepted=sum(not result.case.hostile and result.passed for result in ran),
        not_run=len(results) - len(ran),
    )


# ── in words ────────────────────────────────────────────────────────────────────────────────────

COLUMNS = ("family", "hostile caught", "honest accepted", "not run")


def row(tally: Tally) -> tuple[str, str, str, str]:
    """A tally's cells under COLUMNS."""
    caught, accepted = f"{tally.caught}/{tally.hostile}", f"{tally.accepted}/{tally.honest}"
    return tally.family, caught, accepted, str(tally.not_run or "")


def expected(case: Case) -> str:
    """`wrong or suspect`, with what the verdict must say or bear beside that."""
    statuses = " or ".join(sorted(_spoken(status) for status in case.verdicts))
    labels = "".join(f" [{label}]" for label in sorted(case.labels))
    return f"{statuses}{labels}{f' saying {_quoted(case.says)}' if case.says else ''}"


def _quoted(says: Sequence[str]) -> str:
    return " or ".join(map(repr, says))


def got(result: Result) -> str:
    """The verdict's status and labels, and the first line of what it says is wrong."""
    if result.error:
        return f"error: {first_line(result.error)}"
    if result.verdict is None:
        return "nothing"
    labels = "".join(f" [{label}]" for label in result.verdict.labels)
    error = first_line(result.verdict.error)
    return f"{_spoken(result.verdict.status)}{labels}{f': {error}' if error else ''}"


def closing(report: Report) -> list[str]:
    """What follows the table: what did not run and why, and the sums."""
    lines = [f"{count} not run for want of {reason}" for reason, count in report.absences().most_common()]
    if again := [result.case.name for result in report.results if result.again]:
        lines.append(f"suspect at first, as on a busy machine, and judged once more: {', '.join(sorted(again))}")
    if before := [result.seconds for result in report.results if result.before]:
        lines.append(f"{len(before)} judged before, in {sum(before):.0f} s")
    lines += [*report.notes, f"sandbox: {report.sandbox}"]
    if report.without:
        lines.append(f"left out: {', '.join(sorted(report.without))}; misses show what rests on that")
    total, ended = report.total(), "interrupted after" if report.interrupted else "in"
    caught = f"{total.caught} of {total.hostile} hostile kernels caught"
    accepted = f"{total.accepted} of {total.honest} honest ones accepted"
    lines.append(f"{caught}, {accepted}, {total.not_run} not run, {ended} {report.seconds:.0f} s")
    return lines


def plain(report: Report, *, verbose: bool = False) -> str:
    """The whole report for a terminal without colours."""
    rows = [COLUMNS, *(row(tally) for tally in report.families())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in rows
    ]
    told = report.results if verbose else report.misses
    return "\n".join([*table, *(line for result in told for line in said(result)), *closing(report)])


def said(result: Result) -> list[str]:
    """A kernel's outcome in one line, or, for a miss, in as many as it takes."""
    if result.absent:
        return [f"not run {result.case.name}, for want of {result.absent}"]
    if result.outcome != "missed":
        return [f"{result.outcome} {result.case.name}: {got(result)} ({result.seconds:.1f} s)"]
    kind = "hostile" if result.case.hostile else "honest"
    return [
        f"missed {result.case.name} ({kind}: {first_line(result.case.about)})",
        f"  expected {expected(result.case)}",
        f"  got      {got(result)}",
        *([f"  {result.objection}"] if result.verdict and result.verdict.status in result.case.verdicts else []),
    ]


def first_line(text: str) -> str:
    """Foreign text's first line that is not empty, without anything that could drive a terminal."""
    line = next((line for line in text.splitlines() if line.strip()), "").strip()
    shown = "".join(character if character.isprintable() else "\ufffd" for character in line)
    return shown if len(shown) <= LONGEST_LINE else shown[: LONGEST_LINE - 1] + "…"


def _spoken(status: str) -> str:
    return status.replace("_", " ")


# ── as data ─────────────────────────────────────────────────────────────────────────────────────


def data(report: Report) -> dict[str, Any]:
    """For programs: fields with units in their names, nothing that is unknown."""
    return {
        "families": [_counts(tally) for tally in report.families()],
        "total": _counts(report.total()),
        "results": [_result(result) for result in report.results],
        "without": _sorted(report.without),
        "notes": list(report.notes),
        "sandbox": report.sandbox,
        "interrupted": report.interrupted,
        "seconds": round(report.seconds, 3),
    }


def _counts(tally: Tally) -> dict[str, Any]:
    return {
        "family": tally.family,
        "hostile": tally.hostile,
        "caught": tally.caught,
        "honest": tally.honest,
        "accepted": tally.accepted,
        "not_run": tally.not_run,
    }


def _result(result: Result) -> dict[str, Any]:
    verdict, case = result.verdict, result.case
    return {
        "file": case.name,
        "hostile": case.hostile,
        "about": case.about,
        "expected": _sorted(case.verdicts),
        "checks": _sorted(case.checks),
        "outcome": result.outcome,
        "status": str(verdict.status) if verdict else None,
        "labels": _sorted(verdict.labels) if verdict else [],
        "error": verdict.error if verdict else result.error,
        "sandbox": verdict.sandbox if verdict else "",
        "objection": result.objection,
        "absent": result.absent,
        "again": result.again,
        "before": result.before,
        "seconds": round(result.seconds, 3),
    }


def _sorted(values: Iterable[str]) -> list[str]:
    return sorted(map(str, values))
