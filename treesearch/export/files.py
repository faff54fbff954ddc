"""Files out of templates/: Python that quotes foreign text as literals, and what lies beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import jinja2

from treesearch.export.literals import comment, literal, markdown, toml, word

Files = Mapping[str, str | bytes]
"""Contents by path below an export's folder."""


def render(template: str, **values: object) -> str:
    """A file made of a template of templates/. Foreign values go through one of the filters, never bare."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("treesearch.export"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # what is made is Python, where escaping for HTML would change texts
    )
    made.filters.update(literal=literal, word=word, comment=comment, markdown=markdown, toml=toml, repr=repr)
    return made
