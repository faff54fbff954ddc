"""`treesearch show`: a run or a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treesearch.cli import common
from treesearch.errors import UsageError

if TYPE_CHECKING:
    from treesearch.archive import Archive
    from treesearch.records import Request, Run


@click.command()
@click.argument("name", metavar="[RUN|KERNEL|PROBLEM]", required=False)
@click.option("--prompt", is_flag=True, help="Print the prompt that a kernel, or an answer, came of.")
@click.option("--answer", is_flag=True, help="Print the answer that a kernel came of.")
@click.option("--builds", is_flag=True, help="Print what was built before that answer, and what was said of it.")
@click.option("--profile", is_flag=True, help="Print what a model gets to read of a kernel's verdict.")
@common.archive_option
@common.json_option
def show(
    name: str | None, prompt: bool, answer: bool, builds: bool, profile: bool, archive: str | None, as_json: bool
) -> None:
    """Show a run with all its kernels, or one kernel with its idea, verdict and source; by default the latest run.

    With --prompt or --answer, what a model was asked and what it said: of a kernel, or of any answer by its id; with
    --builds, what it built before it answered, where it could call a tool for that. With --profile, what is known of a
    kernel: its time under the measured roofs, its launches, its instructions, its first wrong elements.

    Ids may be shortened, and are looked for in the working archive and in the shipped record. A problem's name stands
    for its newest run.
    """
    from treesearch import feedback
    from treesearch.roofline import floor
    from treesearch.view import answerers, data, ideas, tables, text

    with common.archives(archive) as stores:
        if prompt or answer or builds:
            request, said = common.exchange(stores, name)
            click.echo(text.visible(_turns(stores, request) if builds else request.prompt if prompt else said.text))
            return
        store, run, kernel = common.find(stores, name)
        if profile:
            click.echo(text.visible(_profile(store, run, kernel)))
            return
        lineage = common.lineage_of(store, run)
        device = store.device(run.device)
        bound = floor(store.problem(run.problem), device)
        measured = store.remeasurements([kernel] if kernel else [entry.kernel.id for entry in lineage.entries])
        if kernel is None:
            spent, answered = store.spend(run.id), store.answered(run.id)
            by = answerers.tallies(lineage.entries, store.authors(run.id))
            if as_json:
                whole = data.run(run, lineage, device, bound, measured, spent)
                made = [data.decision(one) for one in store.decisions(run.id)]
                common.print_json({**whole, **answerers.as_json(by), "decisions": made})
            else:
                common.out().print(tables.run(run, lineage, device, spent, bound, measured), answerers.table(by))
                common.out().print(tables.questions(answered, store.failed_asks(run.id)))
                common.out().print(ideas.decisions(store.decisions(run.id)), end="")
            return
        entry = lineage.entry(kernel)
        taken = feedback.resources(entry.kernel, entry.evaluation)
        past = store.evaluations(kernel), store.findings(kernel), measured
        if as_json:
            told = (entry.evaluation.profile or None) if entry.evaluation else None
            texts = {"source": entry.kernel.source, "answer": entry.kernel.answer, "profile": told}
            about = {**data.floor(bound), "resources": data.resources(taken)}
            common.print_json({**data.entry(entry, lineage), **about, **data.history(*past), **texts})
        else:
            again = data.final_of(measured, kernel, device.id)
            common.out().print(tables.kernel(entry, lineage, taken, bound, again), tables.history(*past))


def _turns(stores: list[Archive], request: Request) -> str:
    """What models built on the way to an answer."""
    from treesearch.view import turns

    found = (store.turns(request.id) for store in stores)
    return turns.text(next(filter(None, found), ()))


def _profile(store: Archive, run: Run, kernel: str | None) -> str:
    """What a kernel's verdict tells, as prompts quote it."""
    from treesearch import feedback
    from treesearch.languages import named

    if kernel is None:
        raise UsageError(f"Name a kernel whose profile to print; `treesearch show {run.id}` lists this run's.")
    entry = common.lineage_of(store, run).entry(kernel)
    if entry.evaluation is None:
        raise UsageError(f"Kernel {kernel} has no verdict yet, so nothing is known of it.")
    about = store.problem(run.problem), named(entry.kernel.language), store.device(run.device)
    return feedback.known(*about, entry.evaluation)
