"""`treesearch config`: the settings that a search would have here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click

from treesearch.cli import common, settings


@click.command(params=[*settings.SETTINGS])
@settings.config_option
@common.json_option
@click.pass_context
def config(ctx: click.Context, /, as_json: bool, **_: object) -> None:
    """Show every setting of `treesearch run` and where it comes from: a flag, a variable, the file, or the default.

    Then what the models cost, in dollars per million tokens. What is not known is called unpriced.
    """
    from treesearch.models import pool
    from treesearch.plan import default_models
    from treesearch.view import tables

    settings.search_arguments(ctx)  # which refuses values that do not fit
    roles = (ctx.params["idea_model"], ctx.params["code_model"])
    shared = ctx.params["model"] or (() if all(roles) else default_models())
    models = pool.names(shared, *roles)
    values = {**ctx.params, "model": list(shared)}
    held = [(one, values[one.key], settings.source_of(one, ctx)) for one in settings.SETTINGS]
    costs = _prices(models, ctx)
    if as_json:
        rows = {setting.key: {"value": value, "source": source} for setting, value, source in held}
        common.print_json({"settings": rows, "prices": costs})
        return
    shown = [(setting.key, _shown(setting, value), source) for setting, value, source in held]
    common.out().print(tables.settings([*shown, *_price_rows(costs)]))


def _shown(setting: settings.Setting, value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return setting.unset if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _prices(models: Sequence[str], ctx: click.Context) -> dict[str, dict[str, Any] | None]:
    """The price of each model that would be asked, and those in the file; None for what is unpriced."""
    from treesearch.models import prices

    given = settings.file_of(ctx).prices
    inside = {price.model for price in given}
    known = prices(dict.fromkeys([*models, *inside]), given)
    file = str(settings.file_of(ctx).path)
    return {
        model: {"input": price.input, "output": price.output, "source": file if model in inside else "list price"}
        if price
        else None
        for model, price in known.items()
    }


def _price_rows(costs: dict[str, dict[str, Any] | None]) -> Iterable[tuple[str, str, str]]:
    for model, cost in costs.items():
        name = f"price of {model}"
        if cost is None:
            yield name, "unpriced", ""
        else:
            yield name, f"${cost['input']:g} read, ${cost['output']:g} written", cost["source"]
