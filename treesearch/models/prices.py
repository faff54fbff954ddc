"""What a model costs: the price that is configured, else litellm's."""

from __future__ import annotations

from collections.abc import Iterable

from treesearch.models.api import _litellm
from treesearch.records import Price
from treesearch.records.budgets import MILLION

FREE = "replay/"
"""Recorded answers cost nothing now."""
WITHOUT = ("file", "cmd")
"""Whoever answers there is paid elsewhere, if at all."""


def prices(models: Iterable[str], configured: Iterable[Price] = ()) -> dict[str, Price | None]:
    """The price of each model, None where it is not known; touches no network."""
    given = {price.model: price for price in configured}
    return {model: given.get(model) or _known(model) for model in models}


def _known(model: str) -> Price | None:
    prefix = model.partition("/")[0]
    if model.startswith(FREE):
        return Price(model, 0.0, 0.0)
    return None if prefix in WITHOUT else _listed(model)


def _listed(model: str) -> Price | None:
    """litellm's list price, without discounts for what is in a provider's cache. What it lists at 0 it lacks."""
    try:
        read, written = _litellm().cost_per_token(model=model, prompt_tokens=MILLION, completion_tokens=MILLION)
    except Exception:  # it says in many ways, bare ones among them, that it does not know a model
        return None
    return Price(model, read, written) if read or written else None
