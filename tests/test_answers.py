"""Ideas and code out of what models write."""

from __future__ import annotations

import json
import time

import pytest

from treesearch.answers import (
    LARGEST_SPEEDUP,
    MECHANISM_LIMIT,
    RISK_LIMIT,
    SOURCE_LIMIT,
    TITLE_LIMIT,
    code,
    ends_in_code,
    ideas,
)
from treesearch.records import Category, Idea

FENCES = ("cpp", "c++", "cc", "c")
SOURCE = '#include "problem.h"\nextern "C" int launch(const float* x, float* out, void* scratch) { return 0; }\n'
ITEM = {
    "title": "Fuse the passes",
    "category": "memory access",
    "mechanism": "One pass instead of two.",
    "expected_speedup": 1.3,
    "risk": "Register pressure.",
    "refuted_if": "DRAM traffic stays the same.",
}
IDEA = Idea(
    "Fuse the passes",
    Category.MEMORY,
    "One pass instead of two.",
    1.3,
    "Register pressure.",
    "DRAM traffic stays the same.",
)


def item(**changes: object) -> str:
    return json.dumps([ITEM | changes])


def fenced(text: str, tag: str = "json", fence: str = "```") -> str:
    return f"{fence}{tag}\n{text}\n{fence}"


# ── ideas ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        f"Reasoning.\n\n{fenced(json.dumps([ITEM]))}\n",
        f"Reasoning.\r\n\r\n{fenced(json.dumps([ITEM], indent=2))}\r\n".replace("\n", "\r\n"),
        fenced(json.dumps({"ideas": [ITEM]})),
        fenced(json.dumps([ITEM]), tag=""),
        fenced(json.dumps([ITEM]), tag="JSON", fence="~~~~"),
        "```json\n" + json.dumps([ITEM]),
        f"The list [1] follows. {json.dumps([ITEM])} That is all.",
        f"Here: {json.dumps({'ideas': [ITEM]})}",
        fenced(json.dumps([ITEM], indent=2).replace('"\n', '",\n').replace("}\n", "},\n")),
        f"{fenced('[{]')}\n{fenced(json.dumps([ITEM]))}\n{fenced('not JSON')}\n{fenced('[]')}",
        f"{fenced(json.dumps([ITEM | {'title': 'A draft'}]))}\nBetter:\n{fenced(json.dumps([ITEM]))}",
        f"{fenced('for (;;) launch();', 'cpp')}\n{json.dumps([ITEM])}",
    ],
)
def test_ideas_are_found_in_every_form_that_models_use(text: str) -> None:
    assert ideas(text, 8) == (IDEA,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot help with that.",
        fenced("[]"),
        fenced('{"ideas": "none"}'),
        fenced('["a", 1, null]'),
        fenced("[" * 200_000),
        "[{" * 50_000,
        '{"ideas"' * 10_000,
        fenced('[{"title": "Fuse", "category": "memory access"'),
    ],
)
def test_no_ideas_come_from_an_answer_that_holds_none(text: str) -> None:
    started = time.monotonic()
    assert ideas(text, 8) == ()
    assert time.monotonic() - started < 5


def test_an_answer_that_was_cut_off_gives_the_ideas_that_are_whole() -> None:
    whole = json.dumps([ITEM, ITEM | {"title": "Tile"}, ITEM | {"title": "Lost"}], indent=2)
    assert [idea.title for idea in ideas("```json\n" + whole[: whole.index("Lost") + 2], 8)] == [IDEA.title, "Tile"]


def test_fields_are_known_by_the_names_that_models_give_them() -> None:
    renamed = {
        "Name": ITEM["title"],
        "Category": ITEM["category"],
        "description": ITEM["mechanism"],
        "Expected speed-up": "1.3x",
        "risks": ITEM["risk"],
        "what would refute it": ITEM["refuted_if"],
    }
    assert ideas(json.dumps([renamed]), 8) == (IDEA,)


def test_the_first_ideas_are_taken_up_to_the_limit() -> None:
    text = fenced(json.dumps([ITEM | {"title": f"Idea {number}"} for number in range(5)]))
    assert [idea.title for idea in ideas(text, 2)] == ["Idea 0", "Idea 1"]
    assert ideas(text, 0) == ()


@pytest.mark.parametrize("key", ["title", "mechanism"])
@pytest.mark.parametrize("value", ["", " \n", None, 3])
def test_an_item_without_title_or_mechanism_is_skipped(key: str, value: object) -> None:
    text = json.dumps([ITEM | {key: value}, "text", ITEM])
    assert ideas(text.replace('["', '[ "'), 8) == (IDEA,)


def test_a_missing_risk_is_empty_and_a_missing_speedup_promises_nothing() -> None:
    (idea,) = ideas(json.dumps([{"title": "Fuse", "category": "memory access", "mechanism": "One pass."}]), 8)
    assert (idea.risk, idea.expected_speedup) == ("", 1.0)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (1.3, 1.3),
        (2, 2.0),
        ("1.3", 1.3),
        ("1.3x", 1.3),
        ("~1.3×", 1.3),
        ("~30%", 1.3),
        ("30 % faster", 1.3),
        ("1.2-1.5", 1.35),
        ("1.2x – 1.5x", 1.35),
        ("1.2 to 1.5", 1.35),
        ("20-40%", 1.3),
        ("20% to 40%", 1.3),
        ("up to 2x", 2.0),
        ("large", 1.0),
        (None, 1.0),
        (True, 1.0),
        (0, 1.0),
        (-2, 1.0),
        (float("nan"), 1.0),
        (float("inf"), 1.0),
        (10**400, 1.0),
        (2 * LARGEST_SPEEDUP, 1.0),
        ([1.2], 1.0),
    ],
)
def test_expected_speedups_are_read_as_ratios(said: object, meant: float) -> None:
    (idea,) = ideas(item(expected_speedup=said), 8)
    assert idea.expected_speedup == pytest.approx(meant)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        *((category.value, category) for category in Category),
        *((category.name, category) for category in Category),
        ("Memory Access Optimization", Category.MEMORY),
        ("cache blocking", Category.MEMORY),
        ("latency-hiding", Category.ASYNCHRONY),
        ("Precision", Category.PRECISION),
        ("data_type_and_precision", Category.PRECISION),
        ("SIMD vectorization", Category.COMPUTE),
        ("threading", Category.PARALLELISM),
        ("Control-Flow & Loops", Category.CONTROL_FLOW),
        ("memry acces", Category.MEMORY),
        ("paralelism", Category.PARALLELISM),
    ],
)
def test_categories_are_read_by_value_or_close_name(said: str, meant: Category) -> None:
    (idea,) = ideas(item(category=said), 8)
    assert idea.category is meant


def test_a_missing_category_is_guessed_from_the_title() -> None:
    (idea,) = ideas(item(category=None, title="Unroll the loop over channels"), 8)
    assert idea.category is Category.CONTROL_FLOW


def test_fields_are_bounded_single_lines_without_control_characters() -> None:
    hostile = "One\n\n## two\t\x1b[2J\u202ethree\0 \ud800" + "x" * 5000
    (idea,) = ideas(item(title=hostile, mechanism=hostile, risk=hostile), 8)
    assert [len(field) for field in (idea.title, idea.mechanism, idea.risk)] == [
        TITLE_LIMIT,
        MECHANISM_LIMIT,
        RISK_LIMIT,
    ]
    assert idea.title.startswith("One ## two [2Jthree ")
    assert idea.mechanism.isprintable()
    assert idea.mechanism.encode()


# ── code ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        f"Plan.\n\n```cpp\n{SOURCE}```\nDone.",
        f"Plan.\r\n\r\n```cpp\r\n{SOURCE}```\r\n",
        f"```C++ title=kernel.cpp\n{SOURCE}```",
        f"```{{.cpp .numberLines}}\n{SOURCE}```",
        f"```\n{SOURCE}```",
        f"`````cpp\n{SOURCE}`````",
        f"~~~c\n{SOURCE}~~~",
        f"1. The file:\n\n   ```cpp\n{SOURCE}   ```",
        f"```cpp\n{SOURCE}",
        f"```markdown\nThe file:\n```cpp\n{SOURCE}```\n```\n",
        f"```cpp\nint launch() {{ /* a draft */ }}\n```\nBetter:\n```cpp\n{SOURCE}```",
        f"```cpp\n{SOURCE}```\nCall it as\n```cpp\nlaunch(x, out, scratch);\n```",
        f"```cpp\n{SOURCE}```\nBuild it with\n```\ng++ launch.cpp\n```\n```python\nlaunch(x)\n```",
        f"```bash\ng++ kernel.cpp\n```\n```cpp\n{SOURCE}```",
        f"The fence was forgotten:\n```\nnotes\n```cpp\n{SOURCE}```",
        SOURCE,
        f"\n\n{SOURCE}",
    ],
)
def test_the_source_is_found_in_every_form_that_models_use(text: str) -> None:
    assert code(text, FENCES) == SOURCE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would call launch(x, out) and include problem.h.",
        "```cpp\nint main() { return 0; }\n```",
        f"```python\n{SOURCE}```",
        f"```cpp\n```\n{SOURCE}",
        "The word launch is not a function:\n```\nlaunch\n```",
    ],
)
def test_no_source_comes_from_an_answer_that_holds_none(text: str) -> None:
    assert code(text, FENCES) is None


def test_a_fence_inside_a_longer_fence_is_part_of_the_source() -> None:
    source = f"{SOURCE}/*\n```\nexample\n```\n*/\n"
    assert code(f"````cpp\n{source}````", FENCES) == source


def test_blank_lines_and_indentation_of_a_source_are_kept() -> None:
    source = SOURCE + "\n\n    // indented\n"
    assert code(f"```cpp\n{source}```", FENCES) == source


def test_a_source_over_the_limit_is_none() -> None:
    fits = SOURCE + "/" * (SOURCE_LIMIT - len(SOURCE) - 1) + "\n"
    assert code(f"```cpp\n{fits}```", FENCES) == fits
    assert code(f"```cpp\n{fits[:-1]}/\n```", FENCES) is None


def test_a_source_can_be_stored_whatever_the_model_wrote() -> None:
    found = code(f"```cpp\n{SOURCE}// \ud800 \0\n```", FENCES)
    assert found == SOURCE + "// ? \n"


@pytest.mark.parametrize(
    ("text", "cut_off"),
    [
        ("no code at all", False),
        ("```cpp\nint x;\n```", False),
        ("```cpp\nint x;\n```\nDone.", False),
        ("```cpp\r\nint x;\r\n```\r\n", False),
        ("```cpp\nint x;", True),
        ("```cpp\nint x;\n```\n```cpp\nint y", True),
        ("~~~\nint x;\n```\nint y;", True),
        ("```markdown\n```cpp\nint x;\n```\n```", False),
        ("````\n```cpp\nint x;\n```\n````", False),
        ("The fence comes last:\n```", False),
    ],
)
def test_an_answer_that_stops_within_a_code_block_was_cut_off(text: str, cut_off: bool) -> None:
    assert ends_in_code(text) is cut_off
