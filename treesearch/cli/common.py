"""What several commands share: consoles, options, and finding ids in the working archive or the shipped record."""

from __future__ import annotations

import difflib
import json
import math
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treesearch.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from treesearch.archive import Archive
    from treesearch.lineage import Lineage
    from treesearch.records import Answer, Entry, Request, Run

MOST_SECONDS = 1e6
"""Eleven days; what is longer, infinity included, is more than clocks and sockets can be told to wait."""

archive_option = click.option(
    "--archive",
    metavar="URL",
    envvar="TREESEARCH_ARCHIVE",
    help="Archive to use, a path or a URL [default: .treesearch/archive.db].",
)
device_option = click.option(
    "--device",
    metavar="DEVICE",
    default="auto",
    show_default=True,
    help="Device to run on, here or elsewhere: an id, a part of its name, or a file that `treesearch device` wrote.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


class Seconds(click.FloatRange):
    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=0, max=MOST_SECONDS, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if math.isnan(float(super().convert(value, param, ctx))):  # no comparison refuses it
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return super().convert(value, param, ctx)


def out() -> Console:
    """Standard output; wide where it is a file or a pipe, so that nothing is cut."""
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=200)


def err() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(value: Any, *, compact: bool = False) -> None:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=None if compact else 2)
    click.echo("".join(map(_escaped, written)))


def _escaped(character: str) -> str:
    """Control and formatting characters, which JSON allows in part but a terminal would obey, as JSON escapes."""
    harmless = character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
    return character if harmless else json.dumps(character)[1:-1]


def named_archive(url: str | None) -> str:
    from treesearch.plan import default_archive

    return url or default_archive()


@contextmanager
def archives(url: str | None) -> Iterator[list[Archive]]:
    """The named archive alone, or else the working archive, if there is one, and the shipped record."""
    from contextlib import ExitStack

    from treesearch import resources
    from treesearch.archive import Archive
    from treesearch.plan import WORKING_ARCHIVE

    with ExitStack() as stack:
        found = []
        if url is not None:
            found.append(stack.enter_context(Archive(url, read_only=True)))
        else:
            if Path(WORKING_ARCHIVE).exists():
                found.append(stack.enter_context(Archive(WORKING_ARCHIVE, read_only=True)))
            found.append(stack.enter_context(Archive(resources.record(), read_only=True)))
        yield found


def find(stores: list[Archive], name: str | None) -> tuple[Archive, Run, str | None]:
    """The archive and run behind an id or its beginning; the kernel's id too, where it is a kernel's.

    A problem's name stands for its newest run; without a name, the latest run of the first archive that has any.
    """
    if name is None:
        for store in stores:
            if run := store.latest_run():
                return store, run, None
        raise UsageError("There is no run yet; start one with `treesearch run PROBLEM`.")
    for store in stores:
        if run := next((run for run in store.runs() if run.problem_name == name), None):
            return store, run, None
    reasons = []
    for store in stores:
        for finder in (_run, _kernel):
            try:
                return (store, *finder(store, name))
            except UsageError as reason:
                reasons.append(reason)
    ambiguous = [reason for reason in reasons if "more than one" in str(reason)]
    if ambiguous:
        raise ambiguous[0]
    raise UsageError(f"No run or kernel has an id that starts with {name!r}; {_closest(stores, name)}.")


def _closest(stores: list[Archive], name: str) -> str:
    runs = {run.id: run for store in stores for run in store.runs()}
    near = difflib.get_close_matches(name, runs, n=1, cutoff=0)
    if not near:
        return "there is no run yet"
    found = f"the closest run is {near[0]} on {runs[near[0]].problem_name}"
    return f"{found}, and `treesearch show` lists the kernels of the latest"


def _run(store: Archive, name: str) -> tuple[Run, str | None]:
    return store.run(name), None


def _kernel(store: Archive, name: str) -> tuple[Run, str | None]:
    run, kernel = store.kernel(name)
    return run, kernel.id


def exchange(stores: list[Archive], name: str | None) -> tuple[Request, Answer]:
    """What a model was asked and what it said, by the answer's id or that of the kernel that came of it."""
    for store in stores:
        if name and (found := store.exchange(name)):
            return found
    store, _, kernel = find(stores, name)
    found = store.exchange(store.kernel(kernel)[1].answer) if kernel else None
    if found is None:
        raise UsageError(
            "Name a kernel or an answer whose prompt or answer to print; `treesearch show RUN` lists them."
        )
    return found


def lineage_of(store: Archive, run: Run) -> Lineage:
    return store.lineage(run.id)


def path_to(lineage: Lineage, run: Run, kernel: str | None) -> tuple[Entry, ...]:
    """Root to the kernel, or to the run's fastest."""
    fastest = lineage.fastest()
    if kernel is None and fastest is None:
        raise UsageError(f"Run {run.id} has no verified kernel yet, so there is no winner to trace.")
    return lineage.path(kernel or (fastest.kernel.id if fastest else ""))
