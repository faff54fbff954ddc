"""Tables, Markdown and the live view, from records that hold hostile text."""

from __future__ import annotations

import io
import threading
from dataclasses import replace

import pytest
from rich.console import Console

from treesearch.errors import ArchiveError
from treesearch.events import (
    Asking,
    Event,
    IdeasChosen,
    Judged,
    Moved,
    Preparing,
    Replaying,
    RoundBegan,
    RunOpened,
    Step,
)
from treesearch.lineage import Lineage, Reviewed, Standing
from treesearch.records import (
    Accuracy,
    Answer,
    Budget,
    Build,
    Category,
    Config,
    Device,
    Edge,
    Entry,
    Evaluation,
    Idea,
    Kernel,
    Measurement,
    Proposal,
    Protocol,
    Ratio,
    Relation,
    Request,
    Resources,
    Run,
    Spending,
    Stage,
    Status,
    Timing,
)
from treesearch.view import markdown, money, tables
from treesearch.view.progress import Progress

HOSTILE = "\x1b[2J[bold]|`<b>![x](y)\u202e"
DEVICE = Device("cpu", HOSTILE, 8, 1 << 30)
RUN = Run("r1", "d1", HOSTILE, Config((HOSTILE,)), DEVICE.id, created="2026-11-21T00:00:00")
IDEA = Idea(HOSTILE, Category.MEMORY, HOSTILE, 1.5, HOSTILE)


def verified(kernel: Kernel, milliseconds: float, *, compiled: bool = True) -> Entry:
    speedup = Ratio(4 / milliseconds, 1.0, 9.0)
    measurement = Measurement(
        Timing((milliseconds,)),
        Timing((4.0,)),
        speedup,
        Timing((2.0,)) if compiled else None,
        speedup if compiled else None,
        "" if compiled else HOSTILE,
    )
    accuracy = Accuracy(15, 1e-7, 1e-7, "float64", "float32-like")
    build = Build("g++", 0.1, False, HOSTILE)
    return Entry(
        kernel, Evaluation(Status.VERIFIED, DEVICE.id, Protocol(0.01), "", accuracy, measurement, build, seconds=1.0)
    )


def entries() -> tuple[Entry, Entry, Entry]:
    root = Kernel("r1", 0, "0.0", "cpp", f"// {HOSTILE}", "a0")
    proposal = Proposal("r1", 1, 0, root.id, "a1", IDEA)
    child = Kernel("r1", 1, "0.0", "cpp", f"// {HOSTILE}", "a2", proposal)
    broken = Kernel("r1", 1, "0.1", "cpp", f"// {HOSTILE}", "a3", proposal)
    failure = Evaluation(Status.BUILD_FAILED, DEVICE.id, Protocol(0.01), f"{HOSTILE} error: [/red]")
    return verified(root, 2.0), verified(child, 1.0, compiled=False), Entry(broken, failure)


def lineage() -> Lineage:
    root, child, broken = entries()
    edges = [Edge(root.kernel.id, one.kernel.id, Relation.REFINES) for one in (child, broken)]
    return Lineage([root, child, broken], edges)


def printed(*things: object, width: int = 200) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=False)
    for thing in things:
        console.print(thing)
    return out.getvalue()


def harmless(written: str) -> bool:
    return not set(written) & {"\x1b", "\u202e", "\x07"}


def test_tables_print_foreign_text_as_it_is_but_for_what_steers_a_terminal() -> None:
    root, child, broken = entries()
    found = lineage()
    written = printed(
        tables.run(RUN, found, DEVICE, Spending(1, 1, 1, 2, None)),
        tables.trajectory([root, child]),
        tables.kernel(child, found),
        tables.kernel(broken, found),
        tables.resources([Resources(HOSTILE, 1, 2, 3, 4, 5)]),
        tables.verdicts([(HOSTILE, one.evaluation) for one in entries() if one.evaluation]),
        tables.checks([("x", None, HOSTILE)]),
    )
    assert harmless(written)
    assert "[bold]" in written
    assert "[/red]" in written


def test_kernels_that_wait_for_a_verdict_are_counted_as_due() -> None:
    root, child, _ = entries()
    waiting = Lineage([root, replace(child, evaluation=None)], ())
    assert "1 verified, 1 due" in printed(tables.run(RUN, waiting, DEVICE, Spending()))
    assert "no kernels yet" in printed(tables.run(RUN, Lineage([], ()), DEVICE, Spending()))


def test_a_run_that_ended_at_a_limit_says_so_wherever_it_is_shown() -> None:
    found = replace(
        RUN, stopped=f"$0.80 of $0.90 are used{HOSTILE}", config=Config(("openai/s",), budget=Budget(usd=0.9))
    )
    spent = Spending(4, 0, 1000, 234, 0.8)
    written = printed(tables.run(found, lineage(), DEVICE, spent), money.spending(found, spent), width=400)
    assert harmless(written)
    assert written.count("1,234 tokens, $0.80 of $0.90") == 2
    assert written.count("stopped: $0.80 of $0.90 are used") == 2
    assert "with a larger budget the same command goes on" in written


def test_what_does_not_count_is_dim_and_says_why_in_harmless_words() -> None:
    root, child, _ = entries()
    assert root.evaluation
    assert child.evaluation
    doubted = replace(root.evaluation, status=Status.SUSPECT, error="found out")
    reviewed = [
        Reviewed(root.kernel, doubted, standing=Standing.SUSPECT, reason=HOSTILE, judged=root.evaluation, judgements=1),
        Reviewed(child.kernel, standing=Standing.REOPENED, reason=HOSTILE, judged=child.evaluation, judgements=1),
    ]
    found = Lineage(reviewed, [Edge(root.kernel.id, child.kernel.id, Relation.REFINES)])
    shown = [tables.run(RUN, found, DEVICE, Spending(1, 1, 1, 2, None)), tables.trajectory(reviewed)]
    written = printed(*shown) + markdown.trajectory(RUN, DEVICE, reviewed)
    assert harmless(written)
    assert written.count("suspect: ") == written.count("re-opened: ") == 3
    out = io.StringIO()
    Console(file=out, width=200, force_terminal=True, color_system="standard").print(tables.trajectory(reviewed))
    assert all(line.startswith("\x1b[2m") for line in out.getvalue().splitlines()[1:])


def test_a_trajectory_of_80_columns_has_a_line_a_step() -> None:
    root, child, _ = entries()
    assert len(printed(tables.trajectory([root, child]), width=80).splitlines()) == 3


def test_markdown_cells_hold_no_markup() -> None:
    root, child, _ = entries()
    written = markdown.trajectory(RUN, DEVICE, [root, child])
    row = written.splitlines()[5]
    assert harmless(written)
    assert row.replace("\\|", "").count("|") == 6
    assert "\\!" not in row
    assert "!\\[x\\](y)" in row
    assert "&lt;b>" in row
    assert "\\`" in row


def events() -> list[Event]:
    root, child, broken = entries()
    assert child.kernel.proposal
    request = Request("r1", 0, Stage.KERNEL, "p", "", "0", "?")
    return [
        Replaying(HOSTILE),
        RunOpened(RUN, (root,)),
        RoundBegan(0, 1, ()),
        Preparing("compiling"),
        Asking(request, HOSTILE),
        Moved(0, "0.0", Step.JUDGING),
        Judged(root, True),
        RoundBegan(1, 1, (root,)),
        Moved(1, "ideas.0", Step.ASKED),
        IdeasChosen(1, (child.kernel.proposal,)),
        Moved(1, "0.3", Step.BUILDING),
        Moved(1, "0.2", Step.MISSED),
        Judged(broken, True),
        Judged(child, False),
    ]


def test_off_a_terminal_progress_is_plain_lines_and_counts_what_a_recording_lacks() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, width=80, soft_wrap=True), lambda run: Spending()) as progress:
        for event in events():
            progress(event)
    lines = out.getvalue().splitlines()
    assert harmless(out.getvalue())
    assert [line for line in lines if line.startswith("  0.0    verified             2 ms  2.00× eager, 2.00× compile")]
    assert [line for line in lines if line.startswith("  0.1    build failed ")]
    assert lines[-1] == "without a recorded answer, and so left out: 1 request"
    assert not [line for line in lines if " judged" in line], "no live line"


@pytest.mark.parametrize("width", [40, 120])
def test_on_a_terminal_the_live_lines_show_where_the_round_stands(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, legacy_windows=False, _environ={"TERM": "xterm"})
    with Progress(console, lambda run: Spending(5, 5, 1000, 234, None)) as progress:
        for event in events():
            progress(event)
        progress._live.refresh()
    live = out.getvalue()
    assert "round 1/1 · 1 idea" in live
    if width == 120:
        assert "1 building · 1 missed · 2 judged" in live
        assert "best 1 ms, 4.00× eager · 1,234 tokens, unpriced · 0 s" in live


def test_a_store_that_is_busy_does_not_end_the_live_view() -> None:
    def spend(run: str) -> Spending:
        raise ArchiveError("locked")

    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True, legacy_windows=False, _environ={"TERM": "xterm"})
    with Progress(console, spend) as progress:
        for event in events():
            progress(event)
        progress._live.refresh()
    assert "0 tokens, $0.00" in out.getvalue()


def test_events_of_many_threads_and_the_drawing_do_not_disturb_each_other() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True, legacy_windows=False, _environ={})
    with Progress(console, lambda run: Spending()) as progress:
        progress(RunOpened(RUN, ()))
        progress(RoundBegan(1, 1, ()))

        def work(number: int) -> None:
            for place in range(300):
                progress(Moved(1, f"{number}.{place}", Step.ASKED))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            progress._live.refresh()
        assert "2400 asked" in progress._line().plain


def test_a_question_that_nobody_answered_says_why() -> None:
    asked = Request("run", 1, Stage.IDEAS, "problem", "parent", "0", "prompt")
    shown = printed(tables.questions([(asked, Answer("", "openai/s", failure="content filter"))], []))
    assert "nobody: content filter" in shown
