"""Figures and foreign text, made fit for a line of a terminal or a Markdown table."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal

from treesearch.lineage import Reviewed
from treesearch.meter import dollars
from treesearch.records import Budget, Entry, Evaluation, Proposal, Ratio, Spending, Status, Verb

ERROR = re.compile(r"\berror: (?!ld returned)|undefined reference")
"""A line of compiler or linker output that says what is wrong."""


HAND = {Verb.ADD: "by hand", Verb.PIN: "pinned", Verb.BAN: "banned"}

PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def figure(value: float) -> str:
    """Three significant digits of a positive number, never in powers of ten: `0.0636`, `12345`."""
    if value >= 999.5:
        return f"{value:.0f}"
    return f"{value:.3g}" if value >= 1e-4 else f"{Decimal(f'{value:.2e}').normalize():f}"


def milliseconds(value: float | None) -> str:
    """Three significant digits, with the unit."""
    return "–" if value is None else f"{figure(value)} ms"


def quantity(value: float, unit: str) -> str:
    """Three significant digits with a decimal prefix: `3.02 TB/s`, `537 MB`."""
    scale, prefix = next(((scale, prefix) for scale, prefix in PREFIXES if value >= 0.9995 * scale), (1.0, ""))
    return f"{figure(value / scale)} {prefix}{unit}"


def ratio(value: Ratio | None) -> str:
    """`3.21× (3.10–3.30)`: the value and its 95 % interval."""
    return f"{value.value:.2f}× ({value.low:.2f}–{value.high:.2f})" if value else "–"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} %"


def status(value: Status) -> str:
    return str(value).replace("_", " ")


def idea_title(entry: Entry, limit: int = 80) -> str:
    if entry.kernel.idea:
        return one_line(entry.kernel.idea.title, limit)
    return "first kernel"


def hand(verbs: Iterable[Verb]) -> str:
    """What a person has done with an idea: `by hand`, `pinned`, `banned`."""
    return ", ".join(HAND[verb] for verb in verbs)


def by_hand(proposal: Proposal | None) -> str:
    return hand(proposal.verbs) if proposal else ""


def spend(spent: Spending, budget: Budget | None = None) -> str:
    """What has been spent, and of how much; what has no known price is named, never called nothing."""
    limits = budget or Budget()
    known = [number for number in (spent.input_tokens, spent.output_tokens) if number is not None]
    of_tokens = f" of {limits.tokens:,}" if limits.tokens else ""
    parts = [f"{sum(known):,}{of_tokens} tokens"] if known else []
    if spent.cost_usd is not None:
        parts.append(dollars(spent.cost_usd) + (f" of {dollars(limits.usd)}" if limits.usd else ""))
    if spent.unpriced:
        parts.append(f"{count(spent.unpriced, 'answer')} unpriced" if spent.cost_usd is not None else "unpriced")
    return ", ".join(parts)


def standing(entry: Entry) -> str:
    """How a kernel stands, and why, where something was found out after its verdict; else nothing."""
    return f"{entry.standing}: {one_line(entry.reason, 160)}" if isinstance(entry, Reviewed) else ""


def labels(judged: Evaluation) -> str:
    return ", ".join(map(str, judged.labels))


def reason(judged: Evaluation, limit: int = 100) -> str:
    """What went wrong, on one line: of a compiler's output, its first error rather than what leads up to it."""
    error = judged.error
    if judged.status is Status.BUILD_FAILED:
        error = next((line for line in error.splitlines() if ERROR.search(line)), error)
    return one_line(error, limit)


def one_line(text: str, limit: int = 200) -> str:
    """Foreign text without control characters, line breaks or terminal escapes, cut at `limit` characters."""
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def escaped(text: str, limit: int = 200) -> str:
    """Foreign text as one line of plain words of Markdown: no cell ends in it, and no link, image or tag begins."""
    marked = re.sub(r"([\\|`*_\[\]])", r"\\\1", one_line(text, limit))
    return marked.replace("&", "&amp;").replace("<", "&lt;")


def visible(text: str) -> str:
    """Foreign text whose control and formatting characters, which could drive a terminal, are made visible."""
    if text.isascii() and text.isprintable():  # as nearly all is
        return text
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
        else "\ufffd"
        for character in text
    )
