"""The version of a run: another one wherever pages about it would say something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from treesearch.archive import Archive, Finding, Kind
from treesearch.errors import UsageError
from treesearch.records import Config, Decision, Purpose, Remeasurement, Run, Verb

if TYPE_CHECKING:
    from tests.archive.conftest import Samples


@pytest.fixture
def run(archive: Archive, samples: Samples) -> Run:
    return samples.open(archive)


def test_every_kind_of_news_is_another_version(archive: Archive, samples: Samples, run: Run) -> None:
    kernel = samples.kernel(archive, run)
    proposal = samples.proposal(run, kernel.id, samples.answered(archive, run, ordinal="1.0"))
    config = Config(**{**vars(samples.config), "rounds": 9})
    news = (
        lambda: archive.save_kernel(kernel),
        lambda: archive.save_evaluation(kernel.id, samples.failed()),
        lambda: archive.save_proposals([proposal]),
        lambda: archive.save_decision(Decision(run.id, Verb.BAN, proposal.idea, kernel.id, proposal.id)),
        lambda: archive.save_finding(Finding(kernel.id, Kind.SUSPECT, "too good")),
        lambda: archive.save_remeasurement(Remeasurement(kernel.id, Purpose.FINAL, samples.verified())),
        lambda: samples.answered(archive, run, ordinal="2.0"),
        lambda: archive.save_failed_ask(samples.request(run, ordinal="3.0"), "openai/o3", "refused"),
        lambda: archive.finish(run.id, 2),
        lambda: archive.open_run(samples.problem, config, samples.device),
        lambda: archive.finish(run.id, 9, "budget"),
    )
    versions = [archive.version(run.id)]
    for tell in news:
        assert archive.version(run.id) == versions[-1]
        tell()
        versions.append(archive.version(run.id))
    assert len(set(versions)) == len(news) + 1


def test_what_is_said_of_another_run_alone_changes_nothing(archive: Archive, samples: Samples, run: Run) -> None:
    before = archive.version(run.id)
    other = samples.open(archive, new=True)
    archive.save_kernel(samples.kernel(archive, other))
    assert archive.version(run.id) == before != archive.version(other.id)


def test_an_unknown_run_has_no_version(archive: Archive) -> None:
    with pytest.raises(UsageError, match="no run 'unknown'"):
        archive.version("unknown")
