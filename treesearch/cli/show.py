"""`treesearch show`: a run or a kernel."""

from __future__ import annotations

import click

from treesearch.cli import common


@click.command()
@click.argument("name", metavar="[RUN|KERNEL]", required=False)
@click.option("--prompt", is_flag=True, help="Print the prompt that a kernel, or an answer, came of.")
@click.option("--answer", is_flag=True, help="Print the answer that a kernel came of.")
@common.archive_option
@common.json_option
def show(name: str | None, prompt: bool, answer: bool, archive: str | None, as_json: bool) -> None:
    """Show a run with all its kernels, or one kernel with its idea, verdict and source; by default the latest run.

    With --prompt or --answer, what a model was asked and what it said: of a kernel, or of any answer by its id.

    Ids may be shortened, and are looked for in the working archive and in the shipped record.
    """
    from treesearch.view import data, tables, text

    with common.archives(archive) as stores:
        if prompt or answer:
            request, said = common.exchange(stores, name)
            click.echo(text.visible(request.prompt if prompt else said.text))
            return
        store, run, kernel = common.find(stores, name)
        lineage = common.lineage_of(store, run)
        if kernel is None:
            device = store.device(run.device)
            if as_json:
                common.print_json(data.run(run, lineage, device))
            else:
                common.out().print(tables.run(run, lineage, device, store.spend(run.id)))
                common.out().print(tables.questions(store.answers(run.id), store.failed_asks(run.id)))
            return
        entry = lineage.entry(kernel)
        if as_json:
            common.print_json(
                {**data.entry(entry, lineage), "source": entry.kernel.source, "answer": entry.kernel.answer}
            )
        else:
            common.out().print(tables.kernel(entry, lineage, run.config.language))
