"""What models are asked: the templates of prompts/, rendered from records.

Every question about a run begins with the same text, the contract, the machine and the problem, so that a provider
that keeps the beginnings of prompts has it at hand; what it is about comes next, and the task last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treesearch import feedback, roofline
from treesearch.feedback import figures
from treesearch.prompts.extent import FULL, Extent, LeftOut, shorter
from treesearch.prompts.history import STEPS_LIMIT, TRIED_LIMIT, steps, tried
from treesearch.prompts.templates import SHIPPED, Templates, fenced, overridden, quotes
from treesearch.records import Category, Decision, Device, Entry, Idea, Measurement, Problem

if TYPE_CHECKING:
    from treesearch.languages import Language
    from treesearch.lineage import Lineage

__all__ = [
    "SHIPPED",
    "STEPS_LIMIT",
    "TRIED_LIMIT",
    "Extent",
    "Inspiration",
    "Templates",
    "fenced",
    "ideas",
    "kernel",
    "overridden",
    "quotes",
    "repair",
    "shorter",
    "workbench",
]


@dataclass(frozen=True)
class Inspiration:
    """A verified kernel of the bank: of another problem with operators in common, or one that a person named."""

    problem: str
    entry: Entry
    source: str
    """Its source, or head and tail of one that is too long."""
    shared: tuple[str, ...]
    """Operators that both problems have."""
    asked: bool = False
    """Whether a person named it."""


def ideas(
    problem: Problem,
    language: Language,
    device: Device,
    parent: Entry,
    lineage: Lineage,
    count: int,
    *,
    baselines: Measurement | None = None,
    bank: Sequence[Inspiration] = (),
    known: Sequence[Idea] = (),
    banned: Sequence[Decision] = (),
    extent: Extent = FULL,
    templates: Templates = SHIPPED,
) -> str:
    """Ask for `count` ideas about `parent`, given what was tried in `lineage`.

    `baselines` stands in where the parent has no timing of its own on this machine. `known` are ideas of an earlier
    answer to the same question, which are not wanted again; `banned` are what a person has ruled out, the newest last.
    `extent` bounds what is told.
    """
    way, before = steps(lineage.path(parent.id), extent.steps), tried(lineage, parent, extent.tried)
    told = banned[max(0, len(banned) - extent.tried) :]
    skipped = {
        "tried": before.left_out,
        "steps": way.skipped if way else 0,
        "banned": len(banned) - len(told),
    }
    return templates.render(
        "ideas.md.j2",
        **_about(problem, language, device, parent, bank, extent, **skipped),
        count=count,
        known=known,
        banned=told,
        baselines=baselines,
        categories=[category.value for category in Category],
        fastest=lineage.fastest(),
        steps=way,
        tried=before,
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
    bank: Sequence[Inspiration] = (),
    extent: Extent = FULL,
    templates: Templates = SHIPPED,
) -> str:
    """Ask for implementation `variant` (from 0) of `variants` of `idea` on `parent`; in round 0 both are None.

    The first of several first kernels is to be plain, a start that is sure to work. The others are each the best single
    shot, along another route: what a model can do at once, a search need not spend rounds on.
    """
    ambitious = parent is None and variant > 0
    return templates.render(
        "kernel.md.j2",
        **_about(problem, language, device, parent, bank if parent or ambitious else (), extent),
        ambitious=ambitious,
        baselines=None,
        idea=idea,
        variant=variant,
        variants=variants,
    )


def repair(
    problem: Problem,
    language: Language,
    device: Device,
    failed: Entry,
    idea: Idea | None,
    *,
    extent: Extent = FULL,
    templates: Templates = SHIPPED,
) -> str:
    """Ask for a kernel that works in place of `failed`, which holds what went wrong."""
    about = _about(problem, language, device, failed, (), extent)
    return templates.render("repair.md.j2", **about, failed=failed, idea=idea)


def workbench(language: Language, builds: int, *, templates: Templates = SHIPPED) -> str:
    """What is added to a question for a kernel where whoever answers can build, at most `builds` times."""
    return templates.render("workbench.md.j2", language=language, builds=builds)


# ── what the templates see ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Traffic:
    """Bytes that one call has to read and write at the least: every tensor once."""

    read: int
    written: int


def _about(
    problem: Problem,
    language: Language,
    device: Device,
    entry: Entry | None,
    bank: Sequence[Inspiration],
    extent: Extent,
    *,
    tried: int = 0,
    steps: int = 0,
    banned: int = 0,
) -> dict[str, object]:
    """What every prompt says, as far as `extent` goes; `tried`, `steps` and `banned` are how many it leaves out."""
    architecture = device.architecture or language.architecture
    hopper = device.kind == "cuda" and architecture.startswith("sm_90")
    whole = _profile(problem, language, device, entry)
    profile = whole if extent.profile is None else figures.excerpt(whole, extent.profile)
    unquoted = 0 if extent.bank else len(bank)
    left_out = LeftOut(tried, steps, banned, unquoted, hopper and not extent.pages, profile != whole)
    return {
        "problem": problem,
        "language": language,
        "device": device,
        "parent": entry,
        "gpu": device.kind == "cuda",
        "architecture": architecture,
        "hopper": hopper and extent.pages,
        "traffic": Traffic(problem.bytes_read, problem.bytes_written),
        "floor": roofline.floor(problem, device),
        "profile": profile,
        "bank": bank if extent.bank else (),
        "extent": extent,
        "left_out": left_out if extent != FULL and left_out != LeftOut() else None,
    }


def _profile(problem: Problem, language: Language, device: Device, entry: Entry | None) -> str:
    """What the verdict tells of a kernel; nothing while there is none."""
    if entry is None or entry.evaluation is None:
        return ""
    return feedback.known(problem, language, device, entry.evaluation)
