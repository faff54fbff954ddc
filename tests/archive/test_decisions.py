"""What every archive keeps of a person's decisions about ideas, and what they mean for proposals."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.archive.older import before_overviews
from treesearch.archive import Archive, migrate
from treesearch.errors import ArchiveError
from treesearch.records import Category, Decision, Idea, Kernel, Proposal, Round, Run, Verb

if TYPE_CHECKING:
    from tests.archive.conftest import Samples

OWN = Idea("Fuse them", Category.CONTROL_FLOW, "One pass.", 2.5, "registers", "two passes are as fast")


@pytest.fixture
def run(archive: Archive, samples: Samples) -> Run:
    return samples.open(archive)


@pytest.fixture
def proposal(archive: Archive, samples: Samples, run: Run) -> Proposal:
    found = samples.proposal(run, "p", samples.answered(archive, run, 1, "0"))
    archive.save_proposals([found])
    return found


def about(proposal: Proposal, verb: Verb) -> Decision:
    return Decision(proposal.run, verb, proposal.idea, proposal.parent, proposal.id, "because")


def test_decisions_come_back_whole_in_the_order_they_were_made(
    archive: Archive, run: Run, proposal: Proposal, samples: Samples
) -> None:
    made = [archive.save_decision(one) for one in (about(proposal, Verb.BAN), about(proposal, Verb.PIN))]
    made.append(archive.save_decision(Decision(run.id, Verb.ADD, OWN, "a kernel", reason="why not")))
    assert archive.decisions(run.id) == tuple(made)
    assert [replace(one, created="") for one in made[:2]] == [about(proposal, Verb.BAN), about(proposal, Verb.PIN)]
    assert all(one.created.endswith("+00:00") and one.by == "person" for one in made)
    assert len({one.id for one in made}) == 3
    assert archive.decisions(samples.open(archive, new=True).id) == ()


def test_a_decision_about_an_unknown_run_is_refused(archive: Archive) -> None:
    with pytest.raises(ArchiveError, match="refers to one it does not hold"):
        archive.save_decision(Decision("unknown", Verb.ADD, OWN))


def test_a_proposal_tells_of_decisions_wherever_it_is_read(archive: Archive, run: Run, proposal: Proposal) -> None:
    kernel = Kernel(run.id, 1, "0.0", "cuda", "// child", "", proposal)
    archive.save_kernel(kernel)
    assert archive.proposals(run.id)[0].verbs == ()
    archive.save_decision(about(proposal, Verb.BAN))
    read = [archive.proposals(run.id)[0], archive.kernel(kernel.id)[1].proposal]
    read.append(archive.entries(run.id)[0].kernel.proposal)
    assert [one.verbs for one in read if one] == [(Verb.BAN,)] * 3
    assert [one.banned for one in read if one] == [True] * 3


def test_a_later_pin_lifts_a_ban_and_a_later_ban_holds_again(archive: Archive, run: Run, proposal: Proposal) -> None:
    told = []
    for verb in (Verb.PIN, Verb.BAN, Verb.PIN, Verb.BAN):
        archive.save_decision(about(proposal, verb))
        told.append(archive.proposals(run.id)[0].verbs)
    assert told == [(Verb.PIN,), (Verb.PIN, Verb.BAN), (Verb.PIN,), (Verb.PIN, Verb.BAN)]


def test_only_what_came_of_an_addition_is_by_hand(archive: Archive, run: Run, proposal: Proposal) -> None:
    added = archive.save_decision(Decision(run.id, Verb.ADD, proposal.idea))
    own = Proposal(run.id, 2, 0, "p", "", proposal.idea, decision=added.id)
    archive.save_proposals([own])
    assert archive.proposals(run.id) == (
        replace(proposal, decisions=(added,)),
        replace(own, decisions=(added,)),
    )
    assert [one.verbs for one in archive.proposals(run.id)] == [(), (Verb.ADD,)]


def test_a_round_keeps_the_decisions_that_it_began_with(archive: Archive, run: Run) -> None:
    archive.save_round(Round(run.id, 1, ("a",), ("one", "two")))
    archive.save_round(Round(run.id, 1, ("a",), ("one", "two", "three")))
    assert archive.rounds(run.id) == (Round(run.id, 1, ("a",), ("one", "two")),)


def test_a_merged_run_brings_its_decisions(archive: Archive, samples: Samples, tmp_path: Path) -> None:
    with Archive(tmp_path / "source.db") as source:
        run = samples.fill(source)
        source.save_decision(about(source.proposals(run.id)[0], Verb.BAN))
        archive.merge(source, run.id)
        archive.merge(source, run.id)
        assert archive.decisions(run.id) == source.decisions(run.id) != ()
        assert archive.proposals(run.id) == source.proposals(run.id)


def test_an_archive_from_before_decisions_is_upgraded_when_it_is_opened(tmp_path: Path, samples: Samples) -> None:
    path = tmp_path / "archive.db"
    with Archive(path) as archive:
        run = samples.fill(archive)
        rows = archive.rounds(run.id), archive.proposals(run.id), archive.entries(run.id)
        archive.seal()
    with closing(sqlite3.connect(path)) as older, older:
        before_overviews(older)
        older.execute("DROP TABLE turns")  # which came later still
        older.execute("DROP TABLE decisions")
        older.execute("ALTER TABLE rounds DROP COLUMN decisions")
        older.execute("ALTER TABLE ideas DROP COLUMN decision")
        older.execute("UPDATE alembic_version SET version_num = '0007'")
    with Archive(path, read_only=True) as archive:
        assert (archive.rounds(run.id), archive.proposals(run.id), archive.entries(run.id)) == rows
    with Archive(path) as archive:
        assert archive.decisions(run.id) == ()
        kept = archive.save_decision(about(archive.proposals(run.id)[0], Verb.PIN))
        assert archive.decisions(run.id) == (kept,)
    with closing(sqlite3.connect(path)) as upgraded:
        assert upgraded.execute("SELECT version_num FROM alembic_version").fetchone() == (migrate.REVISIONS[-1],)
