"""How much a prompt tells beside what every answer needs, and ever shorter prompts where all of it is too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from treesearch.prompts.history import STEPS_LIMIT, TRIED_LIMIT


@dataclass(frozen=True)
class Extent:
    """What a prompt has room for beside the contract, the problem, the kernel that it is about, the idea and the form
    of the answer, which are always told."""

    tried: int = TRIED_LIMIT
    """Ideas listed as tried."""
    steps: int = STEPS_LIMIT
    """Steps listed of the way to the parent."""
    bank: bool = True
    """Whether kernels of other problems are quoted."""
    pages: bool = True
    """Whether the pages on a GPU's own instructions are in it."""
    profile: int | None = None
    """Characters of what a verdict tells, its head and tail; None for all of it."""


FULL = Extent()
FEW_TRIED = replace(FULL, tried=5)
NO_BANK = replace(FEW_TRIED, bank=False)
NO_HISTORY = replace(NO_BANK, tried=0, steps=0)
NO_PAGES = replace(NO_HISTORY, pages=False)
LEAST = replace(NO_PAGES, profile=1500)

NARROWER = (FEW_TRIED, NO_BANK, NO_HISTORY, NO_PAGES, LEAST)
"""What is given up in turn: first what an answer misses least."""


@dataclass(frozen=True)
class LeftOut:
    """What a prompt goes without, since all of it is too long."""

    tried: int = 0
    """Ideas that were tried."""
    steps: int = 0
    """Steps of the way to the parent."""
    banned: int = 0
    """Ideas that a person has ruled out."""
    bank: int = 0
    """Kernels of other problems."""
    pages: bool = False
    profile: bool = False
    """The middle of what a verdict tells."""


def shorter(render: Callable[..., str]) -> Iterator[str]:
    """The prompt that `render` makes of an `extent`, ever shorter, down to its least form; each made when its turn
    comes."""
    shortest = len(render(extent=FULL))
    for extent in NARROWER:
        prompt = render(extent=extent)
        if len(prompt) < shortest:
            shortest = len(prompt)
            yield prompt
