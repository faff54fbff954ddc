"""The templates of prompts/, shipped or a user's own, and how they are rendered.

Text that comes from a candidate (its source, what the compiler said about it) is quoted in a fence longer than
any run of backticks inside, so that no comment can pass for a part of the prompt.
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jinja2

from treesearch import resources
from treesearch.errors import UsageError
from treesearch.feedback import figures
from treesearch.records import digest


@dataclass(frozen=True)
class Templates:
    """The shipped templates, but for those of which `overrides`, a folder, holds a file of the same name."""

    overrides: Path | None = None

    @cached_property
    def digest(self) -> str:
        """Digest of all of them, as they are used: equal where the same question would be asked in the same words."""
        environment = self._environment
        assert environment.loader is not None
        sources = [environment.loader.get_source(environment, name)[0] for name in names()]
        return digest(*names(), *sources)[:12]

    def render(self, template: str, **values: object) -> str:
        """A prompt. Raises UsageError where a template of `overrides` cannot be rendered."""
        try:
            text = self._environment.get_template(template).render(**values)
        except jinja2.TemplateError as error:
            if self.overrides is None:
                raise
            raise UsageError(f"The prompts in {self.overrides} cannot be rendered: {error}.") from error
        return _FENCED_OR_GAP.sub(lambda match: match[0] if match["fence"] else "\n\n", text).strip() + "\n"

    @cached_property
    def _environment(self) -> jinja2.Environment:
        folders = [*([self.overrides] if self.overrides else []), resources.prompts()]
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folders),
            undefined=jinja2.StrictUndefined,
            autoescape=False,  # the output is Markdown for a model; `fenced` is the quoting
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,  # answers are stored with the digest of what the run began with
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


SHIPPED = Templates()


def names() -> tuple[str, ...]:
    """The names of all templates."""
    return tuple(sorted(path.name for path in resources.prompts().glob("*.md.j2")))


def overridden(folder: str | os.PathLike[str]) -> Templates:
    """The shipped templates with those of a folder in place of their namesakes.

    Raises UsageError where the folder cannot be read, or holds a template that has no namesake or is malformed.
    """
    path = Path(folder).expanduser()
    found = sorted(file.name for file in path.glob("*.j2"))
    if not found:
        raise UsageError(f"There is no template in {path}; copy one from {resources.prompts()} and change it there.")
    for name in found:
        if name not in names():
            near = difflib.get_close_matches(name, names(), n=1, cutoff=0)
            raise UsageError(f"{path / name} takes the place of no template; the nearest name is {near[0]}.")
    templates = Templates(path)
    for name in found:
        try:
            templates._environment.get_template(name)
        except (jinja2.TemplateSyntaxError, UnicodeDecodeError) as error:
            raise UsageError(f"{path / name} is no template: {error}.") from error
    return templates


_FENCED_OR_GAP = re.compile(r"^(?P<fence>`{3,})[^\n]*\n.*?^(?P=fence)$|\n{3,}", re.MULTILINE | re.DOTALL)
"""Gaps that optional parts of a template leave, but not blank lines of quoted text."""


def fenced(text: str, tag: str = "") -> str:
    """`text` as a fenced block that it cannot close; terminal escapes and control characters removed."""
    cleaned = figures.ESCAPES.sub("", text.replace("\r\n", "\n")).strip("\n")
    longest = max((len(run) for run in re.findall(r"`+", cleaned)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{tag}\n{cleaned}\n{fence}"


def quotes(prompt: str, text: str) -> bool:
    """Whether a prompt holds a text as `fenced` writes it, with whatever tag."""
    _, _, below = fenced(text).partition("\n")
    return f"\n{below}" in prompt


def _line(text: str) -> str:
    return " ".join(figures.ESCAPES.sub(" ", str(text)).split())


def _inline(text: str, limit: int = 120) -> str:
    """The start of a text as inline code."""
    short = _line(text).replace("`", "'")
    return f"`{short[:limit]}…`" if len(short) > limit else f"`{short}`"
