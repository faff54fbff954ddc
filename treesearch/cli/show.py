"""`treesearch show`: a run or a kernel."""

from __future__ import annotations

import click

from treesearch.cli import common


@click.command()
@click.argument("name", metavar="[RUN|KERNEL]", required=False)
@common.archive_option
@common.json_option
def show(name: str | None, archive: str | None, as_json: bool) -> None:
    """Show a run with all its kernels, or one kernel with its idea, verdict and source; by default the latest run.

    Ids may be shortened, and are looked for in the working archive and in the shipped record.
    """
    from treesearch.view import data, tables

    with common.archives(archive) as stores:
        store, run, kernel = common.find(stores, name)
        lineage = common.lineage_of(store, run)
        if kernel is None:
            device = store.device(run.device)
            if as_json:
                common.print_json(data.run(run, lineage, device))
            else:
                common.out().print(tables.run(run, lineage, device, store.spend(run.id)))
            return
        entry = lineage.entry(kernel)
        if as_json:
            common.print_json({**data.entry(entry, lineage), "source": entry.kernel.source})
        else:
            common.out().print(tables.kernel(entry, lineage, run.config.language))
