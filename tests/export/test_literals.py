"""Foreign text in generated Python: to the letter, whatever it is, and readable where it can be."""

from __future__ import annotations

import ast
import random

import pytest

from treesearch.export.literals import comment, literal, word

HOSTILE = [
    '"""',
    '""""',
    'ends with "',
    'ends with """',
    "ends with \\",
    '\\"""\\',
    "\r\n\r",
    "nul \0 and \x1b[31mred\x1b[0m",
    "right \u202e to left",
    "\ud800 lone surrogate",
    "{{ jinja }} {% raw %} {# comment #}",
    "</script>",
    "line \u2028 separator",
    '"""\nimport os; os.abort()\n"""',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_comes_back_to_the_letter(text: str) -> None:
    assert ast.literal_eval(literal(text)) == text
    assert ast.literal_eval(word(text)) == text


def test_any_text_comes_back_to_the_letter() -> None:
    chance = random.Random(7)
    letters = [*"\"\\'\n\r\0aé{%\u202e\u2028\x1b😀", "\ud800"]
    for _ in range(5000):
        text = "".join(chance.choice(letters) for _ in range(chance.randint(0, 10)))
        assert ast.literal_eval(literal(text)) == text


def test_ordinary_sources_stay_as_they_are() -> None:
    source = '#include "problem.h"\n\tprintf("%d\\n", 1);  // µs, 日本\n'
    assert literal(source) == f'r"""{source}"""'
    problem = f'"""A problem."""\n{source}'
    assert literal(problem) == f"r'''{problem}'''"


def test_no_control_character_is_left_in_a_literal() -> None:
    assert all(character.isprintable() or character in "\n\t" for text in HOSTILE for character in literal(text))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_comment_stays_within_its_docstring(text: str) -> None:
    assert ast.get_docstring(ast.parse(f'"""{comment(text)}."""')) is not None
    assert "\n" not in comment(text)
