"""`treesearch problems`: what there is to make fast, and whether a file can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from treesearch.cli import common
from treesearch.errors import MachineError, ProblemError

if TYPE_CHECKING:
    from treesearch.evaluation.mutants import Report
    from treesearch.languages import Language
    from treesearch.records import Problem


@click.group(invoke_without_command=True)
@common.json_option
@click.pass_context
def problems(ctx: click.Context, as_json: bool) -> None:
    """List the problems that ship with treesearch, or check some."""
    if ctx.invoked_subcommand is not None:
        return
    from treesearch import problem
    from treesearch.view import tables

    listed = problem.shipped()
    if as_json:
        common.print_json([{"name": one.name, "summary": one.summary} for one in listed])
        return
    common.out().print(tables.problems(listed))
    common.err().print("\nAny KernelBench-format file is a problem too: treesearch run path/to/file.py", style="dim")


@problems.command()
@click.argument("problem", nargs=-1)
@common.json_option
def check(problem: tuple[str, ...], as_json: bool) -> None:
    """Load each PROBLEM, show its C signature, and try wrong kernels on it that must be rejected.

    Without a PROBLEM, all that ship. With --json, one PROBLEM gives an object, any other number a list.
    """
    from treesearch import problem as rooms
    from treesearch.evaluation import mutants

    checked: list[tuple[Problem, Report]] = []
    failures: list[str] = []
    for name in problem or [one.name for one in rooms.shipped()]:
        try:
            found = rooms.load(name)
            report = mutants.check(found)
        except MachineError as reason:  # a smaller one may fit all the same
            if len(problem) == 1:
                raise
            failures.append(f"{name} was not checked. {reason}")
            continue
        checked.append((found, report))
        if not as_json:
            _print(found, report)
    if as_json:
        described = [_described(found, report) for found, report in checked]
        common.print_json(described[0] if len(problem) == 1 else described)
    _raise(checked, failures)


def _raise(checked: list[tuple[Problem, Report]], failures: list[str]) -> None:
    undiscriminating = [
        f"{found.name} does not discriminate: {', '.join(report.passed)} would pass as right."
        for found, report in checked
        if report.passed
    ]
    if undiscriminating:
        raise ProblemError("\n".join([*undiscriminating, *failures]))
    if failures:
        raise MachineError("\n".join(failures))


def _language() -> Language:
    from treesearch import languages

    return languages.named("auto")


def _print(problem: Problem, report: Report) -> None:
    from treesearch.view import mutants

    click.echo(_language().header(problem))
    click.echo(
        f"{problem.name}: tolerance {problem.tolerance:g}, precision {problem.precision}, oracle {report.oracle}"
    )
    if report.skipped:
        skipped = ", ".join(report.skipped)
        click.echo(f"kinds of stress left out, beyond the reference's range or what rounding allows: {skipped}")
    if report.right:
        click.echo(f"no mutants, for they do exactly what the reference does: {', '.join(report.right)}")
    common.out().print(mutants.table(report))
    click.echo(f"{problem.name}: {mutants.summary(report)}\n")


def _described(problem: Problem, report: Report) -> dict[str, Any]:
    from treesearch.view import mutants

    return {
        "problem": problem.name,
        "digest": problem.digest,
        "tolerance": problem.tolerance,
        "precision": problem.precision,
        "oracle": report.oracle,
        "prototype": _language().prototype(problem),
        "stress_skipped": list(report.skipped),
        "mutants": {one.mutant: "rejected" if one.rejected else "passed" for one in report.verdicts},
        "verdicts": [
            {
                "mutant": one.mutant,
                "rejected": one.rejected,
                "by": one.by or None,
                "stratum": one.stratum or None,
                "allclose_passes": one.plain,
            }
            for one in report.verdicts
        ],
        "right_by_nature": list(report.right),
        "summary": mutants.summary(report),
    }
