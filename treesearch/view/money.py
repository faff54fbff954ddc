"""What a search has cost, and what one would."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from treesearch.forecast import Estimate
from treesearch.meter import dollars
from treesearch.records import Budget, Run, Spending
from treesearch.view import text
from treesearch.view.tables import bare_table


def spending(found: Run, spent: Spending) -> Text:
    """What a finished run has cost, and which limit it ended at, if it did."""
    lines = [f"spent:  {text.spend(spent, found.config.budget)}"]
    if found.stopped:
        lines.append(f"stopped: {text.one_line(found.stopped)}; with a larger budget the same command goes on")
    return Text("\n".join(lines))


def estimate(found: Estimate, budget: Budget) -> RenderableType:
    """What a search would take, and whether its budget is enough."""
    table = bare_table("stage", ">questions", ">tokens read", ">tokens written")
    for part in found.parts:
        table.add_row(part.stage, *(f"{one:,}" for one in (part.questions, part.input_tokens, part.output_tokens)))
    tokens = f"{found.input_tokens:,} tokens read, {found.output_tokens:,} written"
    basis = f"as long as the {found.recorded} recorded ones" if found.recorded else "guessed, since none is recorded"
    minutes = f"{found.asking_minutes:.0f} minutes of asking, {found.judging_minutes:.0f} of judging"
    lines = [
        f"about {tokens} (answers {basis})",
        f"about {_dollars(found)}",
        f"about {minutes} {text.count(found.evaluations, 'kernel')}, which overlap",
        *_shortfalls(found, budget),
    ]
    return Group(table, "", *map(Text, lines))


def _dollars(found: Estimate) -> str:
    if found.cost_usd is None:
        return f"an unknown cost: {text.one_line(', '.join(found.unpriced))} unpriced"
    return dollars(found.cost_usd)


def _shortfalls(found: Estimate, budget: Budget) -> list[str]:
    """Limits that the search would end at before its last round."""
    needed = {
        "usd": found.cost_usd,
        "tokens": found.input_tokens + found.output_tokens,
        "evaluations": found.evaluations,
        "minutes": max(found.asking_minutes, found.judging_minutes),
    }
    limits = {name: getattr(budget, name) for name in needed}
    short = {
        name: limits[name] / need for name, need in needed.items() if need and limits[name] and need > limits[name]
    }
    return [f"the limit of {limits[name]:g} {name} ends it after about {share:.0%}" for name, share in short.items()]
