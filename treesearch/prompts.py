"""Render the templates of prompts/ from records.

Text that comes from a candidate (its source, what the compiler said about it) is quoted in a fence longer than
any run of backticks inside, so that no comment can pass for a part of the prompt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import jinja2

from treesearch import resources, roofline
from treesearch.records import Category, Device, Entry, Idea, Measurement, Problem

if TYPE_CHECKING:
    from treesearch.languages import Language
    from treesearch.lineage import Lineage, Outcome

EXCERPT_LIMIT = 4000
"""Characters of a compiler log or an error, head and tail together."""

TRIED_LIMIT = 30
"""Ideas listed as tried; those about the parent itself are sure of two thirds."""

STEPS_LIMIT = 30
"""Steps listed of the way to the parent, the latest ones."""


def ideas(
    problem: Problem,
    language: Language,
    device: Device,
    parent: Entry,
    lineage: Lineage,
    count: int,
    *,
    baselines: Measurement | None = None,
) -> str:
    """Ask for `count` ideas about `parent`, given what was tried in `lineage`.

    `baselines` stands in where the parent has no timing of its own on this machine.
    """
    return _render(
        "ideas.md.j2",
        **_about(problem, language, device, parent),
        count=count,
        baselines=baselines,
        categories=[category.value for category in Category],
        fastest=lineage.fastest(),
        steps=_steps(lineage.path(parent.kernel.id)),
        tried=_tried(lineage, parent.kernel.id),
    )


def kernel(
    problem: Problem,
    language: Language,
    device: Device,
    *,
    parent: Entry | None,
    idea: Idea | None,
    variant: int,
    variants: int,
) -> str:
    """Ask for implementation `variant` (from 0) of `variants` of `idea` on `parent`; in round 0 both are None."""
    return _render(
        "kernel.md.j2",
        **_about(problem, language, device, parent),
        baselines=None,
        idea=idea,
        variant=variant,
        variants=variants,
    )


def repair(problem: Problem, language: Language, device: Device, failed: Entry, idea: Idea | None) -> str:
    """Ask for a kernel that works in place of `failed`, which holds what went wrong."""
    return _render("repair.md.j2", **_about(problem, language, device, failed), failed=failed, idea=idea)


# ── what the templates see ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Traffic:
    """Bytes that one call has to read and write at the least: every tensor once."""

    read: int
    written: int

    @property
    def total(self) -> int:
        return self.read + self.written

    def bandwidth(self, milliseconds: float) -> str:
        return f"{self.total / milliseconds / 1e6:.3g}"


@dataclass(frozen=True)
class Steps:
    entries: tuple[Entry, ...]
    skipped: int


@dataclass(frozen=True)
class Tried:
    here: tuple[Outcome, ...]
    elsewhere: tuple[Outcome, ...]
    left_out: int


def _about(problem: Problem, language: Language, device: Device, entry: Entry | None) -> dict[str, object]:
    """What every prompt says."""
    gpu = device.kind == "cuda"
    return {
        "problem": problem,
        "language": language,
        "device": device,
        "parent": entry,
        "gpu": gpu,
        "architecture": device.architecture or language.architecture,
        "threads": entry.evaluation.protocol.threads if entry and entry.evaluation and not gpu else None,
        "traffic": _traffic(problem),
        "floor": roofline.floor(problem, device),
    }


def _traffic(problem: Problem) -> Traffic:
    return Traffic(problem.bytes_read, problem.bytes_written)


def _steps(path: tuple[Entry, ...]) -> Steps | None:
    """Verified kernels on the way to the parent. A root has not come a long way, so None."""
    verified = tuple(entry for entry in path if entry.verified)
    if len(verified) < 2:
        return None
    return Steps(verified[-STEPS_LIMIT:], len(verified[:-STEPS_LIMIT]))


def _tried(lineage: Lineage, parent: str) -> Tried:
    """Ideas tried on the parent, the latest ones, and elsewhere, the most and the least successful ones."""
    here = lineage.outcomes(parent)
    others = (entry.kernel.id for entry in lineage.entries if entry.kernel.id != parent)
    found = [outcome for other in others for outcome in lineage.outcomes(other)]
    elsewhere = tuple(sorted(found, key=lambda outcome: outcome.ratio or 0.0, reverse=True))
    here_kept = here[-max(TRIED_LIMIT * 2 // 3, TRIED_LIMIT - len(elsewhere)) :]
    elsewhere_kept = _ends(elsewhere, TRIED_LIMIT - len(here_kept))
    return Tried(here_kept, elsewhere_kept, len(here) + len(elsewhere) - len(here_kept) - len(elsewhere_kept))


def _ends(outcomes: tuple[Outcome, ...], count: int) -> tuple[Outcome, ...]:
    """The first and last of them, `count` in all."""
    if len(outcomes) <= count:
        return outcomes
    return outcomes[: count - count // 2] + outcomes[len(outcomes) - count // 2 :]


# ── rendering ───────────────────────────────────────────────────────────────────────────────────


def _render(template: str, **values: object) -> str:
    text = _environment().get_template(template).render(**values)
    return _FENCED_OR_GAP.sub(lambda match: match[0] if match["fence"] else "\n\n", text).strip() + "\n"


_FENCED_OR_GAP = re.compile(r"^(?P<fence>`{3,})[^\n]*\n.*?^(?P=fence)$|\n{3,}", re.MULTILINE | re.DOTALL)
"""Gaps that optional parts of a template leave, but not blank lines of quoted text."""


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resources.prompts()),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # the output is Markdown for a model; `fenced` is the quoting
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        fenced=fenced,
        excerpt=excerpt,
        line=_line,
        inline=_inline,
        bytes=_bytes,
        cell=lambda text: _inline(text).replace("|", r"\|"),
        rate=_rate,
        rates=lambda rates: ", ".join(f"{one.precision} {_rate(one.flops)}" for one in rates),
        ms=lambda value: f"{value:.4g} ms",
        ratio=lambda value: f"{value:.2f}×",
        error=lambda value: f"{value:.1e}",
    )
    return environment


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


def fenced(text: str, tag: str = "") -> str:
    """`text` as a fenced block that it cannot close; terminal escapes and control characters removed."""
    cleaned = _ESCAPES.sub("", text.replace("\r\n", "\n")).strip("\n")
    longest = max((len(run) for run in re.findall(r"`+", cleaned)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{tag}\n{cleaned}\n{fence}"


def excerpt(text: str, limit: int = EXCERPT_LIMIT) -> str:
    """Head and tail of a text longer than `limit` characters, with a note of what was left out between."""
    if len(text) <= limit:
        return text
    note = f"\n[… {len(text) - limit} or more characters left out …]\n"
    room = limit - len(note)
    head, tail = text[: room * 2 // 3], text[-(room - room * 2 // 3) :]
    # Whole lines, unless a single line is most of the text.
    head = head[: head.rfind("\n")] if head.rfind("\n") > len(head) // 2 else head
    tail = tail[tail.find("\n") + 1 :] if -1 < tail.find("\n") < len(tail) // 2 else tail
    return head + note + tail


def _line(text: str) -> str:
    return " ".join(_ESCAPES.sub(" ", str(text)).split())


def _inline(text: str, limit: int = 120) -> str:
    """The start of a text as inline code."""
    short = _line(text).replace("`", "'")
    return f"`{short[:limit]}…`" if len(short) > limit else f"`{short}`"


def _rate(number: float) -> str:
    """`3.01 T`, `750 G`: to be followed by a unit."""
    for power, prefix in ((12, "T"), (9, "G"), (6, "M")):
        if number >= 10**power:
            return f"{number / 10**power:.3g} {prefix}"
    return f"{number:.3g} "


def _bytes(count: int) -> str:
    """`12.0 MiB`, `640 bytes`."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:.1f} {unit}"
    return f"{count} bytes"
