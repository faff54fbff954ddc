"""What became of the wrong kernels that a problem was tried with."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from treesearch.evaluation.mutants import PLAIN_TOLERANCE, Report
from treesearch.view import text

PLAIN = f"allclose({PLAIN_TOLERANCE:.0e})".replace("e-0", "e-")


def table(report: Report) -> Table:
    """One row for each mutant: our verdict, the check and the kind of call behind it, and a plain allclose's."""
    found = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("mutant", "verdict", "by", "on a call", PLAIN):
        found.add_column(column)
    for verdict in report.verdicts:
        found.add_row(
            Text(text.one_line(verdict.mutant)),
            "rejected" if verdict.rejected else Text("PASSED", style="red"),
            verdict.by or "–",
            Text(text.one_line(verdict.stratum or "–")),
            Text("lets it pass", style="yellow") if verdict.plain else "rejects it",
        )
    return found


def summary(report: Report) -> str:
    """One line: how many were rejected, and which a plain allclose would have let pass."""
    rejected = sum(verdict.rejected for verdict in report.verdicts)
    line = f"rejected {rejected} of {len(report.verdicts)}; {PLAIN} would have let {len(report.plain)} through"
    return text.one_line(f"{line}: {', '.join(report.plain)}" if report.plain else line, 1000)
