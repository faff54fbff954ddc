"""What counts once something is found out about a kernel after its verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic import command
from alembic.config import Config as AlembicConfig
from sqlalchemy import MetaData, create_engine, select

import treesearch
from treesearch.archive import Archive, Finding, Kind
from treesearch.errors import ArchiveError
from treesearch.lineage import Reviewed, Standing, standing
from treesearch.records import Edge, Entry, Evaluation, Kernel, Label, Relation, Run, Status

if TYPE_CHECKING:
    from tests.archive.conftest import Samples

LONG_AGO, IN_THE_FUTURE = "2001-01-01T00:00:00.000000+00:00", "2999-01-01T00:00:00.000000+00:00"
MIGRATIONS = Path(treesearch.__file__).parent / "archive" / "migrations"


@pytest.fixture
def run(archive: Archive, samples: Samples) -> Run:
    return samples.open(archive)


def descended(archive: Archive, samples: Samples, run: Run, *relations: Relation) -> list[Kernel]:
    """A chain of verified kernels, each come from the one before by the next relation."""
    chain = [samples.kernel(archive, run)]
    archive.save_kernel(chain[0])
    for number, relation in enumerate(relations, start=1):
        chain.append(samples.kernel(archive, run, number))
        archive.save_kernel(chain[-1], [Edge(chain[-2].id, chain[-1].id, relation)])
    for kernel in chain:
        archive.save_evaluation(kernel.id, samples.verified())
    return chain


def entry_of(archive: Archive, kernel: Kernel) -> Entry:
    return {entry.kernel.id: entry for entry in archive.entries(kernel.run)}[kernel.id]


def standings(archive: Archive, kernels: list[Kernel]) -> list[Standing | None]:
    return [standing(entry_of(archive, kernel)) for kernel in kernels]


def suspected(samples: Samples, seed: int = 7) -> Evaluation:
    good = samples.verified()
    return replace(good, status=Status.SUSPECT, error="the clocks disagree", seed=seed)


# ── verdicts ────────────────────────────────────────────────────────────────────────────────────


def test_labels_and_sandbox_come_back(archive: Archive, samples: Samples, run: Run) -> None:
    (kernel,) = descended(archive, samples, run)
    told = samples.verified(labels=(Label.VARYING, Label.OPEN), sandbox="namespaces (user, net), seccomp", seed=5)
    archive.save_evaluation(kernel.id, told, 2)
    stored = entry_of(archive, kernel).evaluation
    assert stored is not None
    assert (stored.labels, stored.sandbox) == (told.labels, told.sandbox)


def test_a_verdict_given_anew_counts_and_the_old_one_stays(archive: Archive, samples: Samples, run: Run) -> None:
    (kernel,) = descended(archive, samples, run)
    # The machine that judged has a clock that is far behind.
    again = samples.failed(created=LONG_AGO, protocol=samples.verified().protocol)
    assert archive.save_evaluation(kernel.id, again, 2)
    assert not archive.save_evaluation(kernel.id, samples.verified(seed=8), 2), "the first of an ordinal stays"
    assert [one.status for one in archive.evaluations(kernel.id)] == [Status.VERIFIED, Status.WRONG]
    assert entry_of(archive, kernel).evaluation == again


def test_a_later_suspect_verdict_is_kept_and_is_a_finding(archive: Archive, samples: Samples, run: Run) -> None:
    parent, child = descended(archive, samples, run, Relation.REFINES)
    assert archive.save_evaluation(parent.id, suspected(samples))
    assert not archive.save_evaluation(parent.id, suspected(samples)), "it is held"
    (found,) = archive.findings(parent.id)
    assert (found.kind, found.reason, found.by) == (Kind.SUSPECT, "the clocks disagree", "evaluator")
    assert [one.status for one in archive.evaluations(parent.id)] == [Status.VERIFIED, Status.SUSPECT]
    assert standings(archive, [parent, child]) == [Standing.SUSPECT, Standing.REOPENED]


def test_a_first_suspect_verdict_needs_no_finding(archive: Archive, samples: Samples, run: Run) -> None:
    kernel = samples.kernel(archive, run)
    archive.save_kernel(kernel)
    assert archive.save_evaluation(kernel.id, suspected(samples))
    assert archive.findings(kernel.id) == ()
    assert standing(entry_of(archive, kernel)) is None


# ── what follows from a finding ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("relation", list(Relation))
def test_what_came_from_a_suspect_is_reopened(archive: Archive, samples: Samples, run: Run, relation: Relation) -> None:
    chain = descended(archive, samples, run, Relation.REFINES, relation, Relation.REFINES)
    archive.save_finding(Finding(chain[1].id, Kind.SUSPECT, "it reads the clock"))
    assert standings(archive, chain) == [None, Standing.SUSPECT, Standing.REOPENED, Standing.REOPENED]
    suspect, last = entry_of(archive, chain[1]), entry_of(archive, chain[3])
    assert suspect.evaluation is not None
    assert suspect.evaluation.status is Status.SUSPECT
    assert suspect.evaluation.error == "found suspect by a person: it reads the clock"
    assert isinstance(last, Reviewed)
    assert last.evaluation is None
    assert last.judged.status is Status.VERIFIED
    assert last.reason == f"{chain[1].id}, which it came from, was found suspect: it reads the clock"
    lineage = archive.lineage(run.id)
    assert [entry.kernel for entry in lineage.verified()] == [chain[0]]
    assert lineage.standing(chain[3].id) is Standing.REOPENED


def test_what_another_run_took_from_a_suspect_is_reopened(archive: Archive, samples: Samples, run: Run) -> None:
    (kernel,) = descended(archive, samples, run)
    other = samples.open(archive, new=True)
    inspired = samples.kernel(archive, other)
    archive.save_kernel(inspired, [Edge(kernel.id, inspired.id, Relation.INSPIRED_BY)])
    archive.save_evaluation(inspired.id, samples.verified())
    archive.save_finding(Finding(kernel.id, Kind.SUSPECT, "why"))
    assert standings(archive, [inspired]) == [Standing.REOPENED]


def test_what_failed_stays_failed(archive: Archive, samples: Samples, run: Run) -> None:
    parent, child = descended(archive, samples, run, Relation.REFINES)
    archive.save_evaluation(child.id, samples.failed(protocol=samples.verified().protocol), 2)
    archive.save_finding(Finding(parent.id, Kind.SUSPECT, "why"))
    assert standings(archive, [child]) == [None]


def test_one_that_is_judged_again_stands_while_its_ancestor_does_not(
    archive: Archive, samples: Samples, run: Run
) -> None:
    parent, child = descended(archive, samples, run, Relation.REFINES)
    archive.save_finding(Finding(parent.id, Kind.SUSPECT, "why"))
    archive.save_evaluation(child.id, samples.verified(created=LONG_AGO), 2)
    assert standings(archive, [parent, child]) == [Standing.SUSPECT, None]
    assert entry_of(archive, child).verified
    archive.save_finding(Finding(parent.id, Kind.CLEARED, "no"))
    archive.save_finding(Finding(parent.id, Kind.SUSPECT, "yes, after all"))
    assert standings(archive, [child]) == [Standing.REOPENED]


def test_a_first_verdict_that_was_under_way_counts_as_given_before(
    archive: Archive, samples: Samples, run: Run
) -> None:
    parent, child = descended(archive, samples, run)[0], samples.kernel(archive, run, 1)
    archive.save_kernel(child, [Edge(parent.id, child.id, Relation.REFINES)])
    archive.save_finding(Finding(parent.id, Kind.SUSPECT, "why"))
    archive.save_evaluation(child.id, samples.verified(created=LONG_AGO))
    assert standings(archive, [child]) == [Standing.REOPENED]


def test_a_child_that_is_judged_after_the_finding_stands(archive: Archive, samples: Samples, run: Run) -> None:
    parent, child = descended(archive, samples, run)[0], samples.kernel(archive, run, 1)
    archive.save_kernel(child, [Edge(parent.id, child.id, Relation.REFINES)])
    archive.save_finding(Finding(parent.id, Kind.SUSPECT, "why"))
    archive.save_evaluation(child.id, samples.verified())
    assert standings(archive, [child]) == [None]


# ── clearing ────────────────────────────────────────────────────────────────────────────────────


def test_clearing_lifts_what_followed(archive: Archive, samples: Samples, run: Run) -> None:
    chain = descended(archive, samples, run, Relation.REFINES)
    before = [entry_of(archive, kernel).evaluation for kernel in chain]
    archive.save_finding(Finding(chain[0].id, Kind.SUSPECT, "why"))
    archive.save_finding(Finding(chain[0].id, Kind.CLEARED, "I read it"))
    assert standings(archive, chain) == [Standing.CLEARED, None]
    assert [entry_of(archive, kernel).evaluation for kernel in chain] == before
    assert [found.kind for found in archive.findings(chain[0].id)] == [Kind.SUSPECT, Kind.CLEARED]


def test_clearing_a_suspect_verdict_makes_it_verified(archive: Archive, samples: Samples, run: Run) -> None:
    sound, unchecked = samples.kernel(archive, run), samples.kernel(archive, run, 0, "0.1")
    for kernel, verdict in ((sound, suspected(samples)), (unchecked, replace(suspected(samples), accuracy=None))):
        archive.save_kernel(kernel)
        archive.save_evaluation(kernel.id, verdict)
        archive.save_finding(Finding(kernel.id, Kind.CLEARED, "Strassen"))
    assert standings(archive, [sound, unchecked]) == [Standing.CLEARED, None]
    assert [entry_of(archive, kernel).verified for kernel in (sound, unchecked)] == [True, False]


def test_the_last_finding_counts_whatever_the_clocks_said(archive: Archive, samples: Samples, run: Run) -> None:
    parent, child = descended(archive, samples, run, Relation.REFINES)
    archive.save_finding(Finding(parent.id, Kind.SUSPECT, "why", created=IN_THE_FUTURE))
    assert archive.save_evaluation(child.id, samples.verified(), 2)
    assert standings(archive, [parent, child]) == [Standing.SUSPECT, None]
    archive.save_finding(Finding(parent.id, Kind.CLEARED, "the clock was wrong"))
    assert standings(archive, [parent]) == [Standing.CLEARED]


def test_a_finding_about_an_unknown_kernel_is_refused(archive: Archive) -> None:
    with pytest.raises(ArchiveError, match="refers to one it does not hold"):
        archive.save_finding(Finding("unknown", Kind.SUSPECT, "why"))


# ── other archives ──────────────────────────────────────────────────────────────────────────────


def told(archive: Archive, kernels: list[Kernel]) -> list[object]:
    return [(archive.evaluations(one.id), archive.findings(one.id), entry_of(archive, one)) for one in kernels]


def test_merging_carries_findings_and_renewed_verdicts(archive: Archive, samples: Samples, tmp_path: Path) -> None:
    with Archive(tmp_path / "source.db") as source:
        run = samples.open(source)
        chain = descended(source, samples, run, Relation.REFINES, Relation.REFINES)
        source.save_evaluation(chain[0].id, suspected(samples))
        archive.merge(source, run.id)
        assert told(archive, chain) == told(source, chain)
        assert standings(archive, chain) == [Standing.SUSPECT, Standing.REOPENED, Standing.REOPENED]
        source.save_evaluation(chain[1].id, samples.verified(seed=9, labels=(Label.LIBRARY,), sandbox="rlimits"), 2)
        source.save_finding(Finding(chain[0].id, Kind.CLEARED, "looked"))
        archive.merge(source, run.id)
        archive.merge(source, run.id)
        assert told(archive, chain) == told(source, chain)


def test_merging_loses_no_suspicion_where_histories_differ(archive: Archive, samples: Samples, tmp_path: Path) -> None:
    with Archive(tmp_path / "source.db") as source:
        run = samples.open(source)
        kernel = samples.kernel(source, run)
        source.save_kernel(kernel)
        archive.merge(source, run.id)
        archive.save_evaluation(kernel.id, samples.verified())
        source.save_evaluation(kernel.id, suspected(samples))
        archive.merge(source, run.id)
        archive.merge(source, run.id)
        assert standings(archive, [kernel]) == [Standing.SUSPECT]
        assert len(archive.findings(kernel.id)) == 1
        source.merge(archive, run.id)
        assert not entry_of(source, kernel).verified


def test_rows_of_an_older_archive_stand_as_they_are(url: str, samples: Samples, tmp_path: Path) -> None:
    with Archive(tmp_path / "new.db") as new:
        run = samples.fill(new)
        copied(f"sqlite:///{tmp_path / 'new.db'}", url if "://" in url else f"sqlite:///{url}", "0002")
        with Archive(url) as archive:
            kernels = [entry.kernel for entry in new.entries(run.id)]
            assert [entry.kernel for entry in archive.entries(run.id)] == list(map(of_old_idea, kernels))
            verdicts = [archive.evaluations(kernel.id) for kernel in kernels]
            assert verdicts == [tuple(map(of_old, new.evaluations(kernel.id))) for kernel in kernels]
            assert {(one.labels, one.sandbox) for held in verdicts for one in held} == {((), "")}
            child = new.entries(run.id)[0].kernel
            assert archive.save_evaluation(child.id, samples.verified(seed=2), 2), "there is room for another"


def of_old_idea(kernel: Kernel) -> Kernel:
    """A kernel whose idea says nothing of what would refute it."""
    if kernel.proposal is None:
        return kernel
    return replace(kernel, proposal=replace(kernel.proposal, idea=replace(kernel.proposal.idea, refutation="")))


def of_old(judged: Evaluation) -> Evaluation:
    """A verdict without what the tables of revision 0002 had no room for."""
    measured = judged.measurement
    if measured is not None:
        measured = replace(measured, conditions=None, warm=None, parent_speedup=None)
    return replace(judged, measurement=measured, profile="")


def copied(source: str, target: str, revision: str) -> None:
    """Copy all rows into a new database with the tables of an older revision, which gives out numbers of its own."""
    config = AlembicConfig()
    config.set_main_option("script_location", str(MIGRATIONS))
    old, new = create_engine(target), create_engine(source)
    with new.connect() as theirs, old.begin() as ours:
        config.attributes["connection"] = ours
        command.upgrade(config, revision)
        tables = MetaData()
        tables.reflect(ours)
        for table in tables.sorted_tables:
            if table.name != "alembic_version":
                columns = [column for column in table.columns if column is not table.autoincrement_column]
                for row in theirs.execute(select(*columns)).mappings().all():
                    ours.execute(table.insert().values(dict(row)))
    old.dispose()
    new.dispose()
