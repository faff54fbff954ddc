"""Finding a text in ideas, code and answers, in either database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from treesearch.archive import Archive, texts
from treesearch.records import Edge, Idea, Kernel, Proposal, Relation, Run, Stage

if TYPE_CHECKING:
    from tests.archive.conftest import Samples


def fill(archive: Archive, samples: Samples, run: Run, mark: str) -> Proposal:
    """Round 0 with a plain kernel, round 1 with an idea that holds the mark, and a kernel that holds it too."""
    first = samples.kernel(archive, run)
    archive.save_kernel(first)
    asked = samples.request(run, 1, Stage.IDEAS, "0")
    archive.save_answer(asked, samples.answer(f"I would say: {mark}"))
    base = samples.proposal(run, first.id, asked.id)
    idea = replace(base.idea, title=f"Idea of {mark}", mechanism="by\nhalves")
    proposal = replace(base, idea=idea)
    archive.save_proposals([proposal])
    said = samples.request(run, 1, ordinal="0.0")
    archive.save_answer(said, samples.answer(f"```\nint {mark};\n```"))
    kernel = Kernel(run.id, 1, "0.0", "cuda", f"// first\nint {mark};\n", said.id, proposal)
    archive.save_kernel(kernel, [Edge(first.id, kernel.id, Relation.REFINES)])
    return proposal


def found(archive: Archive, wanted: str, limit: int = 9) -> list[tuple[str, int, str]]:
    return [(hit.run.id, hit.round, str(hit.where)) for hit in archive.search(wanted, limit)]


def test_hits_are_the_newest_runs_first_and_what_was_taken_from_an_answer_stands_for_it(
    archive: Archive, samples: Samples
) -> None:
    old = samples.open(archive)
    proposal = fill(archive, samples, old, "Ring_4")
    new = samples.open(archive, new=True)
    fill(archive, samples, new, "ring_4")
    expected = [(run.id, 1, where) for run in (new, old) for where in ("code", "idea")]
    assert found(archive, "RING_4") == expected
    assert found(archive, "ring_4", limit=3) == expected[:3]
    assert [(run, where) for run, _, where in found(archive, "i would say")] == [(new.id, "answer"), (old.id, "answer")]
    (hit,) = (hit for hit in archive.search("halves", 9) if hit.run == old)
    assert (hit.id, hit.text) == (proposal.id, "Idea of Ring_4\nby\nhalves")


def test_the_newest_round_comes_first_and_slots_follow_in_order(archive: Archive, samples: Samples) -> None:
    run = samples.open(archive)
    kernels = [
        Kernel(run.id, round, ordinal, "cuda", "x = 1;", samples.answered(archive, run, round, ordinal))
        for round, ordinal in ((0, "0.0"), (1, "10.0"), (1, "9.0"), (1, "9.0r1"))
    ]
    for kernel in kernels:
        archive.save_kernel(kernel)
    assert [hit.id for hit in archive.search("x = 1", 9)] == [kernels[place].id for place in (2, 3, 1, 0)]


LONG = "// what a kernel says of itself\n" * texts.WORTH_PACKING


def test_long_texts_are_looked_into_however_they_are_kept(archive: Archive, samples: Samples) -> None:
    run = samples.open(archive)
    said = [samples.request(run, ordinal=ordinal) for ordinal in ("0.0", "1.0", "2.0")]
    for request, plan in zip(said, ("Swizzle it.", "A ring.", "No code."), strict=True):
        archive.save_answer(request, samples.answer(f"{plan}\n{LONG}int SWIZZLED;"))
    archive.save_kernel(Kernel(run.id, 0, "0.0", "cuda", f"{LONG}int SWIZZLED;", said[0].id))
    archive.save_kernel(Kernel(run.id, 0, "1.0", "cuda", "int short;", said[1].id))
    hits = archive.search("swizzled", 9)
    kernel = Kernel(run.id, 0, "0.0", "cuda", "", "").id
    assert [(str(hit.where), hit.id) for hit in hits] == [
        ("answer", said[1].id),
        ("answer", said[2].id),
        ("code", kernel),
    ]
    assert hits[0].text == f"A ring.\n{LONG}int SWIZZLED;"
    assert [hit.id for hit in archive.search("swizzle it", 9)] == [said[0].id], "the code does not say that"
    assert [str(hit.where) for hit in archive.search("what a kernel says", 1)] == ["answer"]
    assert archive.search("deflate", 9) == (), "how it is kept is no part of it"


@pytest.mark.parametrize("literal", ["100%", "a_b", "c/d", "back\\slash", "it's", '"quoted"', "µ–∑ 🙂"])
def test_a_text_is_looked_for_as_it_is(archive: Archive, samples: Samples, literal: str) -> None:
    run = samples.open(archive)
    near = literal.replace("%", "x").replace("_", "x").replace("/", "x").replace("\\", "x").replace("'", "x")
    for ordinal, text in (("0.0", f"say {literal} twice"), ("1.0", near.replace('"', "x").replace("µ", "x"))):
        archive.save_answer(samples.request(run, ordinal=ordinal), samples.answer(text))
    (hit,) = archive.search(literal, 9)
    assert literal in hit.text


def test_kernels_without_code_and_archives_without_runs_hold_nothing(archive: Archive, samples: Samples) -> None:
    assert archive.search("x", 9) == ()
    run = samples.open(archive)
    archive.save_kernel(Kernel(run.id, 0, "0.0", "cuda", None, ""))
    assert archive.search("x", 9) == ()


def test_an_idea_that_a_person_added_is_found(archive: Archive, samples: Samples) -> None:
    run = samples.open(archive)
    idea = Idea("By hand", samples.proposal(run, "", "").idea.category, "Swizzle.", 1.1, "none")
    archive.save_proposals([Proposal(run.id, 1, 0, "", "", idea, decision="d")])
    assert found(archive, "swizzle") == [(run.id, 1, "idea")]
