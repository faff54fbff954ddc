"""HTML of what a page says. What a model, a compiler or a file wrote is escaped, and its control characters shown."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from treesearch.feedback import speed
from treesearch.meter import dollars
from treesearch.records import Evaluation, Spending
from treesearch.view import hardware, ideas, text, turns
from treesearch.view.tables import answerer

TEMPLATES = Path(__file__).resolve().parent / "templates"


def render(template: str, **values: object) -> str:
    """A page as HTML."""
    return _environment().get_template(template).render(**values)


def prepare() -> None:
    """Compile all templates, so that no first page has to wait for its own: of a run's, a tenth of a second's work."""
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    # Within a script element: `tojson` escapes what could end it.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters.update(
        answerer=answerer,
        bill=text.spend,
        cause=hardware.cause,
        conditions=_conditions,
        cost=_cost,
        device=hardware.device,
        figure=text.figure,
        hand=text.hand,
        idea=lambda entry: text.idea_title(entry, 200),
        line=text.one_line,
        ms=text.milliseconds,
        outcome=ideas.state,
        passed=turns.passed,
        percent=text.percent,
        quantity=text.quantity,
        ratio=text.ratio,
        slug=lambda words: str(words).replace(" ", "-"),
        tokens=lambda value: "–" if value is None else f"{value:,}",
        times=lambda value: "–" if value is None else f"{value:.2f}×",
        when=lambda created: created[:16].replace("T", " "),
        words=text.status,
    )
    environment.globals.update(count=text.count)
    return environment


def _shown(value: Any) -> Any:
    """Foreign text, its control and formatting characters made visible; most has none."""
    if isinstance(value, str) and not hasattr(value, "__html__") and not value.isprintable():
        return text.visible(value)
    return value


def _cost(spent: Spending) -> str:
    """In dollars, as far as prices are known: an unknown one is no nothing."""
    if spent.cost_usd is None:
        return "unpriced"
    return dollars(spent.cost_usd) + (f" + {spent.unpriced} unpriced" if spent.unpriced else "")


def _conditions(judged: Evaluation) -> str:
    found = judged.measurement.conditions if judged.measurement else None
    return speed.conditions(found) if found else ""
