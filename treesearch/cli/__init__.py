"""The command line. Data goes to standard output, progress and messages to standard error.

Exit codes: 0 done, 1 failed, 2 usage, 75 waiting for answers or evaluations, 130 interrupted.
"""

from __future__ import annotations

import difflib
import errno
import os
import sys
from importlib import import_module
from typing import Any

import click

from treesearch import __version__
from treesearch.errors import TreesearchError, Waiting

INTERRUPTED = 130
COMMANDS = {
    "run": "Search for a faster kernel of PROBLEM.",
    "questions": "List the questions that wait for an answer in a file.",
    "answer": "Answer a question from a file.",
    "config": "Show the settings that hold, and where each comes from.",
    "problems": "List the problems, or check one.",
    "build": "Show what the compiler makes of a kernel, without running it.",
    "evaluate": "Build, verify and time kernels from files.",
    "work": "Judge a bundle of kernels on this machine.",
    "absorb": "Take in the verdicts that `treesearch work` wrote.",
    "device": "Describe this machine, for searches that run elsewhere.",
    "audit": "Judge kernels that cheat, and honest ones that look like them.",
    "show": "Show a run or a kernel (by default the latest run).",
    "trajectory": "Show how a winner came about, step by step.",
    "results": "Show what searches came to, beside PyTorch.",
    "tree": "Show a run's kernels as the tree that they form.",
    "log": "Show why a kernel is what it is, in the order in which it happened.",
    "diff": "Show what differs between two kernels.",
    "compare": "Show runs side by side.",
    "search": "Find text in ideas, code and answers.",
    "serve": "Show runs and kernels as pages in a browser.",
    "report": "Write a run as one HTML file.",
    "idea": "Add an idea of your own to a run, pin one, or ban one.",
    "suspect": "Mark a verified kernel as suspect.",
    "clear": "Lift the suspicion from a kernel.",
    "rebench": "Measure kernels again, and compare them with each other.",
    "export": "Write a kernel as files that others can use.",
    "publish": "Copy a run into the shipped record.",
    "doctor": "Look at what this machine offers and what is missing.",
}
"""Each lives in the module of its name, which is imported when it is used; here, so that help costs nothing."""


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"treesearch.cli.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            if not close:
                raise
            raise click.UsageError(f"{error.message} Did you mean {close[0]!r}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, prog_name="treesearch")
def treesearch(debug: bool) -> None:
    """Make kernels fast by search: ideas from reasoning models, branched into verified, timed implementations."""


def main() -> None:
    """Run this process's command line and exit."""
    import_module("treesearch.evaluation")  # before torch: it tells idle threads to sleep
    _leave(execute(sys.argv[1:]))


def execute(given: list[str]) -> int:
    """Run a command line and return its exit code.

    Errors become one sentence on standard error; with --debug, their traceback comes first.
    """
    debug = "--debug" in given
    # `treesearch run … --debug` is what people type; the option belongs to the group.
    ordered = ["--debug", *(word for word in given if word != "--debug")] if debug else given
    try:
        code = treesearch.main(ordered, standalone_mode=False, prog_name="treesearch")
    except BaseException as error:  # the one place where whatever went wrong becomes a message and an exit code
        if debug and not isinstance(error, click.exceptions.ClickException | click.exceptions.Exit | SystemExit):
            import traceback

            traceback.print_exc()
        code = _explain(error)
    return code if isinstance(code, int) else 0


def _explain(error: BaseException) -> int:
    """Say what went wrong in one sentence, and return the exit code."""
    if isinstance(error, Waiting):
        for line in error.pending:
            click.echo(f"  {_printable(line)}", err=True)
        click.echo(f"Waiting: {_printable(str(error))}", err=True)
        return error.exit_code
    if isinstance(error, TreesearchError):
        return _said(str(error), error.exit_code)
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        click.echo("Interrupted; nothing that was stored is lost. The same command goes on from here.", err=True)
        return INTERRUPTED
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, BrokenPipeError):
        return 1
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return _said("The disk is full; free some space and run the same command again.", 1)
    if isinstance(error, MemoryError):
        return _said("There is not enough memory; use smaller shapes or a larger machine.", 1)
    what = " ".join(str(error).split())[:300]
    return _said(f"Unexpected {type(error).__name__}: {what}. Run with --debug for the traceback, and report it.", 1)


def _said(message: str, code: int) -> int:
    click.echo(f"Error: {_printable(message)}", err=True)
    return code


def _printable(message: str) -> str:
    """What went wrong may quote a reference, a compiler or a provider, none of which may steer the terminal."""
    from treesearch.view.text import visible

    return visible(message)


def _leave(code: int) -> Any:
    """Exit without waiting for threads that are still asking a model or building."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # the reader is gone
            code = code or 1
    os._exit(code)
