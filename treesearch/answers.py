"""Ideas and code out of a model's text. Pure functions: tolerant of form, never of content."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from treesearch.languages.language import LAUNCH, Entry
from treesearch.records import Category, Idea

TITLE_LIMIT, MECHANISM_LIMIT, RISK_LIMIT, REFUTATION_LIMIT = 120, 2000, 500, 500
"""Longest fields of an idea, in characters."""

SOURCE_LIMIT = 512 * 1024
"""Longest source text, in bytes of UTF-8."""

LARGEST_SPEEDUP = 1000.0
"""An idea that promises more has said nothing sensible."""

_JSON_ATTEMPTS = 20


# ── fenced blocks ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Block:
    tag: str
    text: str


_FENCE = re.compile(r"^\s*(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")


def _tag(info: str) -> str:
    """`cpp` out of `cpp`, `C++ title="k"` or `{.cpp .numberLines}`."""
    words = info.strip().strip("{}").split()
    return words[0].lstrip(".").lower() if words else ""


def _blocks(text: str) -> tuple[_Block, ...]:
    """Fenced blocks in order. The last may lack its closing fence, as in an answer that was cut off.

    A fence with a tag opens a new block even inside another: models forget closing fences and wrap
    whole answers in ```markdown, while no source has a line such as ```cpp of its own.
    """
    blocks: list[_Block] = []
    fence, tag, lines = "", "", list[str]()
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if match is None or not _acts(match, fence):
            lines.append(line)
            continue
        if fence:
            blocks.append(_Block(tag, "\n".join(lines)))
        opens = not fence or bool(match["info"].strip())
        fence, tag, lines = (match["fence"], _tag(match["info"]), []) if opens else ("", "", [])
    if fence:
        blocks.append(_Block(tag, "\n".join(lines)))
    return tuple(blocks)


def ends_in_code(text: str) -> bool:
    """Whether an answer stops inside a fenced block, as one does that was cut off."""
    fence, begun = "", False
    for line in text.replace("\r\n", "\n").split("\n"):
        match = _FENCE.match(line)
        if match is None or not _acts(match, fence):
            begun = begun or bool(line.strip())
            continue
        opens = not fence or bool(match["info"].strip())
        fence, begun = match["fence"] if opens else "", False
    return bool(fence) and begun


def _acts(line: re.Match[str], fence: str) -> bool:
    """Whether a fence-like line opens or closes anything while `fence` is open (`""`: none is)."""
    return not fence or (line["fence"][0] == fence[0] and len(line["fence"]) >= len(fence))


def prose(text: str) -> str:
    """What an answer says before its first fenced block; all of it where it has none."""
    lines = _storable(text).split("\n")
    end = next((number for number, line in enumerate(lines) if _FENCE.match(line)), len(lines))
    return "\n".join(lines[:end]).strip()


# ── code ────────────────────────────────────────────────────────────────────────────────────────


def code(text: str, fences: Sequence[str], entry: Entry = LAUNCH) -> str | None:
    """The source in an answer, or None if it holds none (or one over `SOURCE_LIMIT`).

    `fences` are the accepted language tags; a block without a tag counts too. Of several blocks with the
    entry, the last that looks like a whole file is taken, so that an excerpt after the file does no harm.
    An answer without any fence counts if it is itself such a file.
    """
    text = _storable(text)
    blocks = _blocks(text)
    accepted = {"", *(fence.lower() for fence in fences)}
    has = re.compile(entry.pattern, re.MULTILINE).search
    is_whole = re.compile(entry.whole, re.MULTILINE).search
    sources = [block.text for block in blocks if block.tag in accepted and has(block.text)]
    whole = [source for source in sources if is_whole(source)]
    if not blocks and has(text) and is_whole(text):
        whole = [text]
    source = next(iter((whole or sources)[::-1]), "").strip("\n")
    return source + "\n" if source and len(source.encode()) < SOURCE_LIMIT else None


def _storable(text: str) -> str:
    """Unix line ends; without lone surrogates and NULs, which neither files nor databases take."""
    return text.replace("\r\n", "\n").replace("\0", "").encode(errors="replace").decode()


# ── ideas ───────────────────────────────────────────────────────────────────────────────────────


def ideas(text: str, limit: int) -> tuple[Idea, ...]:
    """At most `limit` ideas, in the answer's order; () if it holds none that can be used.

    They are read from the last fenced JSON block that holds any, else from the first bare array of
    objects or object with `ideas`, else, as in an answer that was cut off, from the objects that are whole.
    An idea needs a title and a mechanism; the rest is guessed.
    """
    text = _storable(text)
    found = (_read(value) for value in chain(_fenced_json(text), _bare_json(text), _whole_objects(text)))
    return next((ideas for ideas in found if ideas), ())[: max(limit, 0)]


def _fenced_json(text: str) -> Iterator[object]:
    for block in reversed(_blocks(text)):
        if block.tag in ("json", "jsonc", "json5", ""):
            yield from _parsed(block.text.strip())


def _bare_json(text: str) -> Iterator[object]:
    starts = re.finditer(r'\[\s*\{|\{\s*"ideas"', text)
    for start, _ in zip(starts, range(_JSON_ATTEMPTS), strict=False):
        yield from _parsed(text[start.start() :])


def _whole_objects(text: str) -> Iterator[object]:
    tidy, end, found = _tidied(text), 0, []
    starts = re.finditer(r'\{\s*"', tidy)
    for start, _ in zip(starts, range(_JSON_ATTEMPTS), strict=False):
        if start.start() >= end:
            with suppress(ValueError, RecursionError):
                value, end = _DECODER.raw_decode(tidy, start.start())
                found.append(value)
    yield found


_DECODER = json.JSONDecoder(strict=False)
_STRING_OR_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[\]}])', re.DOTALL)


def _parsed(text: str) -> Iterator[object]:
    """The JSON value that `text` starts with, if any. Trailing commas and raw newlines are forgiven."""
    with suppress(ValueError, RecursionError):
        yield _DECODER.raw_decode(_tidied(text))[0]


def _tidied(text: str) -> str:
    return _STRING_OR_TRAILING_COMMA.sub(lambda match: match[1] or "", text)


def _read(value: object) -> tuple[Idea, ...]:
    if isinstance(value, dict):
        value = value.get("ideas", [value])
    items = value if isinstance(value, list) else []
    return tuple(found for item in items if isinstance(item, dict) and (found := idea(item)))


_NAMES = {
    "title": ("title", "name", "idea"),
    "category": ("category", "kind"),
    "mechanism": ("mechanism", "description", "hypothesis"),
    "speedup": ("expectedspeedup", "speedup", "expected", "predictedspeedup"),
    "risk": ("risk", "risks"),
    "refutation": ("refutedif", "refutation", "refutedby", "whatwouldrefuteit", "falsifiedby"),
}
"""What models call the fields of an idea, letters alone; the first is what prompts ask for."""


def idea(item: Mapping[str, object]) -> Idea | None:
    """The idea that an object describes, each text cut to its limit; None without a title or a mechanism."""
    given = {re.sub(r"[^a-z]", "", key.lower()): value for key, value in item.items()}
    fields = {name: next((given[key] for key in keys if key in given), None) for name, keys in _NAMES.items()}
    title = _field(fields["title"], TITLE_LIMIT)
    mechanism = _field(fields["mechanism"], MECHANISM_LIMIT)
    if not title or not mechanism:
        return None
    return Idea(
        title,
        _category(_field(fields["category"], TITLE_LIMIT) or title),
        mechanism,
        _speedup(fields["speedup"]),
        _field(fields["risk"], RISK_LIMIT),
        _field(fields["refutation"], REFUTATION_LIMIT),
    )


def _field(value: object, limit: int) -> str:
    """One line of printable text: control and formatting characters could steer a terminal or a prompt."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    kept = "".join(char for char in text if not unicodedata.category(char).startswith("C"))
    return kept[:limit].strip()


_KEYWORDS: dict[Category, str] = {
    Category.MEMORY: "memory access bandwidth cache caching locality layout tiling blocking streaming",
    Category.ASYNCHRONY: "asynchrony async asynchronous latency hiding prefetch prefetching pipelining overlap",
    Category.PRECISION: "data type types dtype precision fp16 bf16 half quantization numerics",
    Category.COMPUTE: "compute instructions instruction simd vectorization arithmetic fma ilp",
    Category.PARALLELISM: "parallelism parallel occupancy threads threading openmp scheduling",
    Category.CONTROL_FLOW: "control flow loops loop unrolling unroll branches branch fusion",
}


def _category(text: str) -> Category:
    """The category that `text` names, or the nearest: by shared words, then by likeness of the letters."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    likeness = difflib.SequenceMatcher(b=" ".join(words))

    def nearness(category: Category) -> tuple[int, float]:
        likeness.set_seq1(category.value)
        return sum(word in _KEYWORDS[category].split() for word in words), likeness.ratio()

    return max(Category, key=nearness)


_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)\s*[x×]?(?:\s*(?:-|–|—|to)\s*~?\s*(\d+(?:\.\d+)?)\s*(%?))?")


def _speedup(value: object) -> float:
    """A ratio out of 1.3, `1.3x`, `~30%` (1.3) or `1.2-1.5` (their mean); 1 where nothing sensible is said."""
    if isinstance(value, str):
        value = _ratio(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 1.0
    return float(value) if 0 < value <= LARGEST_SPEEDUP else 1.0


def _ratio(text: str) -> float:
    match = _RANGE.search(text)
    if match is None:
        return 1.0
    bounds = [float(bound) for bound in (match[1], match[3]) if bound]
    mean = sum(bounds) / len(bounds)
    return 1 + mean / 100 if match[2] or match[4] else mean
