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

from treesearch import feedback, resources, roofline
from treesearch.feedback import figures
from treesearch.records import Category, Device, Entry, Idea, Measurement, Problem

if TYPE_CHECKING:
    from treesearch.languages import Language
    from treesearch.lineage import Lineage, Outcome

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
        "profile": _profile(problem, language, device, entry),
    }


def _profile(problem: Problem, language: Language, device: Device, entry: Entry | None) -> str:
    """What the verdict tells of a kernel; of one that is older than such texts, what its other fields tell."""
    if entry is None or entry.evaluation is None:
        return ""
    return entry.evaluation.profile or feedback.text(problem, language, device, entry.evaluation)


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
        line=_line,
        inline=_inline,
        bytes=figures.size,
        rate=figures.rate,
        rates=lambda rates: ", ".join(f"{one.precision} {figures.rate(one.flops)}" for one in rates),
        ms=figures.ms,
        ratio=figures.ratio,
    )
    return environment


def fenced(text: str, tag: str = "") -> str:
    """`text` as a fenced block that it cannot close; terminal escapes and control characters removed."""
    cleaned = figures.ESCAPES.sub("", text.replace("\r\n", "\n")).strip("\n")
    longest = max((len(run) for run in re.findall(r"`+", cleaned)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{tag}\n{cleaned}\n{fence}"


def _line(text: str) -> str:
    return " ".join(figures.ESCAPES.sub(" ", str(text)).split())


def _inline(text: str, limit: int = 120) -> str:
    """The start of a text as inline code."""
    short = _line(text).replace("`", "'")
    return f"`{short[:limit]}…`" if len(short) > limit else f"`{short}`"
