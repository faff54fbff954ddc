"""Unusual contents for inputs, of kinds that a user's data may be of."""

from __future__ import annotations

from collections.abc import Callable

import torch

FAR = 28672.0
"""Nearly as large as float16 bears."""
Change = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


def normal(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(like.shape, generator=generator, device=like.device)


def _spikes(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    drawn = torch.rand(x.shape, generator=generator, device=x.device)
    return torch.where(drawn < 1 / 64, 8 * x.sign(), torch.zeros((), device=x.device))


def _one_in_all(value: float) -> Change:
    """One element that is far from all others, which no sample of them tells of."""

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        changed = x.clone()
        changed.view(-1)[torch.randint(x.numel(), (1,), generator=generator, device=x.device)] = value
        return changed

    return change


STRESS: dict[str, Change] = {
    "weights": lambda x, _: x,
    "offset": lambda x, _: 8 + x / 4,
    "wide": lambda x, g: (x * torch.exp(1.5 * normal(x, g))).clamp(-64, 64),
    "large": lambda x, _: 64 * x,
    "ties": lambda x, _: x.round().clamp(-1, 1),
    "spikes": _spikes,
    "outliers": lambda x, g: torch.where(torch.rand(x.shape, generator=g, device=x.device) < 1 / 512, 64 * x, x),
    "peak": _one_in_all(FAR),
    "dip": _one_in_all(-FAR),
    "constant": lambda x, _: torch.full_like(x, 0.5),
}
"""How each kind of stress changes a nominal floating-point input (as float32). `weights` changes only those."""

AMBIGUOUS = ("ties", "constant", "spikes")
"""Kinds that leave the position of a maximum open, and so are unfair where an output is an index."""
