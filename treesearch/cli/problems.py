"""`treesearch problems`: what there is to make fast, and whether a file can be."""

from __future__ import annotations

import click

from treesearch.cli import common


@click.group(invoke_without_command=True)
@common.json_option
@click.pass_context
def problems(ctx: click.Context, as_json: bool) -> None:
    """List the problems that ship with treesearch, or check one."""
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
@click.argument("problem")
@common.json_option
def check(problem: str, as_json: bool) -> None:
    """Load PROBLEM, show its C signature, and try wrong kernels on it that must be rejected."""
    from treesearch import languages
    from treesearch import problem as rooms
    from treesearch.errors import ProblemError
    from treesearch.evaluation import mutants

    found = rooms.load(problem)
    language = languages.named("auto")
    report = mutants.check(found)
    passed = [verdict.mutant for verdict in report.verdicts if not verdict.rejected]
    if as_json:
        common.print_json(
            {
                "problem": found.name,
                "digest": found.digest,
                "tolerance": found.tolerance,
                "precision": found.precision,
                "oracle": report.oracle,
                "prototype": language.prototype(found),
                "stress_skipped": list(report.skipped),
                "mutants": {
                    verdict.mutant: "rejected" if verdict.rejected else "passed" for verdict in report.verdicts
                },
            }
        )
    else:
        click.echo(language.header(found))
        click.echo(f"tolerance {found.tolerance:g}, precision {found.precision}, oracle {report.oracle}")
        if report.skipped:
            click.echo(f"kinds of stress that the reference does not survive: {', '.join(report.skipped)}")
        for verdict in report.verdicts:
            click.echo(f"{'rejected' if verdict.rejected else 'PASSED  '}  {verdict.mutant}")
    if passed:
        raise ProblemError(f"{found.name} does not discriminate: {', '.join(passed)} would pass as right.")
