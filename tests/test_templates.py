"""Templates of a user's own, and what every prompt of a run has in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_prompts import BROKEN, DEVICE, HALF, LINEAGE, PROBLEM, STEP, UNROLL
from treesearch import prompts
from treesearch.errors import UsageError
from treesearch.languages import CPP
from treesearch.prompts import SHIPPED, Templates, overridden


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder


def ask(templates: Templates = SHIPPED, count: int = 3) -> list[str]:
    """One question of each kind."""
    about = PROBLEM, CPP, DEVICE
    return [
        prompts.ideas(*about, STEP, LINEAGE, count, templates=templates),
        prompts.kernel(*about, parent=STEP, idea=UNROLL, variant=0, variants=2, templates=templates),
        prompts.repair(*about, BROKEN, HALF, templates=templates),
    ]


def test_a_template_takes_the_place_of_its_namesake_alone(tmp_path: Path) -> None:
    own = overridden(write(tmp_path, "_device.md.j2", "## The machine\n\nA {{ device.name }} of mine.\n"))
    for mine, shipped in zip(ask(own), ask(), strict=True):
        assert "A Example 9000 of mine." in mine
        assert "of mine" not in shipped
        assert mine.split("## The problem")[1] == shipped.split("## The problem")[1]


def test_equal_templates_have_equal_digests(tmp_path: Path) -> None:
    own = overridden(write(tmp_path, "_device.md.j2", "Mine.\n"))
    assert own.digest == Templates(tmp_path).digest != SHIPPED.digest
    write(tmp_path, "_device.md.j2", "Another.\n")
    assert Templates(tmp_path).digest != own.digest


def test_a_template_without_namesake_is_refused_and_the_nearest_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"kernels\.md\.j2 takes the place of no template; .* kernel\.md\.j2"):
        overridden(write(tmp_path, "kernels.md.j2", "text"))


def test_a_folder_without_templates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no template in"):
        overridden(tmp_path)


def test_a_malformed_template_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no template: "):
        overridden(write(tmp_path, "ideas.md.j2", "{% if %}"))


def test_a_template_that_asks_for_what_does_not_exist_says_so(tmp_path: Path) -> None:
    own = overridden(write(tmp_path, "ideas.md.j2", "{{ weather }}"))
    with pytest.raises(UsageError, match="cannot be rendered: 'weather' is undefined"):
        ask(own)


def test_questions_of_one_run_begin_with_the_same_text() -> None:
    texts = [*ask(), *ask(count=5)]
    shared = texts[0].split("\n## The kernel to improve")[0]
    assert all(text.startswith(shared) for text in texts)
    assert all(heading in shared for heading in ("## The contract", "## The machine", "## The problem"))
