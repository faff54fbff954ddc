"""What a search will be, before anything is asked: its problem, device, language, configuration and prices.

Names go in, records come out; nothing is stored.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treesearch import languages, problem, resources
from treesearch.archive import Archive
from treesearch.errors import UsageError
from treesearch.evaluation import target
from treesearch.evaluation.target import AUTO, HERE, Here, Target
from treesearch.models import default_model, pool, prices
from treesearch.records import Config, Device, Price, Problem
from treesearch.roofline import floor
from treesearch.steps import recorded

WORKING_ARCHIVE = ".treesearch/archive.db"
SHIPPED = recorded.SHIPPED
Place = Archive | str | os.PathLike[str] | None
"""A store or its URL; None is the working archive."""


@dataclass(frozen=True)
class Plan:
    problem: Problem
    goal: Target
    config: Config
    models: tuple[str, ...]
    """Every model that may be asked, by name."""
    listed: tuple[Price, ...] = ()
    """What is known of the models' prices, where the budget asks for it."""


def plan(
    name: str | os.PathLike[str],
    *,
    models: Sequence[str] = (),
    idea_models: Sequence[str] = (),
    code_models: Sequence[str] = (),
    language: str = AUTO,
    device: str = AUTO,
    archive: Place = None,
    here: Here = HERE,
    **settings: Any,
) -> Plan:
    """The search that these settings make; `settings` are further fields of a Config, or None for their defaults.

    Raises UsageError for settings that do not fit each other.
    """
    shared = tuple(models) or (() if idea_models and code_models else default_models())
    by_role = (tuple(idea_models), tuple(code_models))
    chosen = pool.names(shared, *by_role)
    subject = problem.load(os.fspath(name))
    goal = _target(device, language, chosen, subject, archive, here)
    repeated = recorded.config(chosen, subject, goal.language.name)
    roles = {"models": shared, "idea_models": by_role[0], "code_models": by_role[1]}
    config = _config(repeated, language=goal.language.name, **roles, **settings)
    _check_floor(config, subject, goal.device)
    return Plan(subject, goal, config, chosen, _listed(config, chosen))


def default_models() -> tuple[str, ...]:
    """The model of the first provider whose key is set, else the shipped record."""
    return (default_model(os.environ) or SHIPPED,)


def default_archive() -> str:
    """`$TREESEARCH_ARCHIVE`, else the working archive in the current folder."""
    return os.environ.get("TREESEARCH_ARCHIVE") or WORKING_ARCHIVE


def exists(archive: Place) -> bool:
    """Whether there is such an archive already; of one on a server, that is taken for granted."""
    if isinstance(archive, Archive):
        return True
    place = os.fspath(archive or default_archive())
    return "://" in place or Path(place).exists()


def target_of(device: str, language: str, archive: Place, here: Here) -> Target:
    """The device of that name, or this machine's for a language."""
    if device == AUTO:
        return target.at_hand(languages.named(language), here)
    return target.named(device, language, _known_devices(archive), here)


def _target(device: str, language: str, chosen: Sequence[str], subject: Problem, archive: Place, here: Here) -> Target:
    """The device and the language of a search. Where either may be chosen, a replay takes what is recorded."""
    if device != AUTO:
        return target_of(device, language, archive, here)
    able = target.spoken(language, here)
    if recorded.replays_only(chosen):
        held = recorded.languages(chosen, subject)
        able = tuple(one for one in able if one.name in held) or able
    return target.at_hand(able[0], here)


def _known_devices(archive: Place) -> tuple[Device, ...]:
    """The devices of the working archive, if there is one yet, and of the shipped record."""
    with Archive(resources.record(), read_only=True) as record:
        recorded = record.devices()
    if isinstance(archive, Archive):
        return archive.devices() + recorded
    if not exists(archive):
        return recorded
    with Archive(archive or default_archive()) as store:
        return store.devices() + recorded


def _config(repeated: Config | None, **settings: Any) -> Config:
    """The settings given; counts left at None as in the recorded search, else by default."""
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        if repeated is None:
            return Config(**given)
        counts = ("rounds", "ideas", "implementations", "beam", "repairs")
        return Config(**{**{name: getattr(repeated, name) for name in counts}, **given})
    except ValueError as error:
        raise UsageError(f"These settings do not fit: {error}.") from error


def _listed(config: Config, chosen: Sequence[str]) -> tuple[Price, ...]:
    """The prices of the models that have one; raises UsageError where a budget in dollars would overlook some."""
    if not config.budget.spends:
        return ()
    known = prices(chosen, config.prices)
    unpriced = [model for model, price in known.items() if price is None]
    if unpriced and config.budget.usd is not None:
        raise UsageError(
            f"A budget in dollars needs the price of every model, and that of {unpriced[0]} is not known. Write it "
            f"into treesearch.toml, in dollars per million tokens ([prices.{unpriced[0]!r}] with input = … and "
            "output = …), or limit tokens with --budget-tokens."
        )
    return tuple(price for price in known.values() if price)


def _check_floor(config: Config, subject: Problem, device: Device) -> None:
    if config.budget.floor is not None and floor(subject, device) is None:
        raise UsageError(
            f"The floor on {device.name} is not known, since its bandwidth and rates were never measured; leave "
            "--stop-at-floor out, or name a goal with --stop-at-speedup."
        )
