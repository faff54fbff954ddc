"""The winner of a search whose device is somewhere else: measured again there, once, and kept only if it is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.steps import away, scripted
from tests.steps.away import Split
from treesearch import work
from treesearch.archive import Archive
from treesearch.errors import UsageError, Waiting
from treesearch.evaluation import bundle, device, results
from treesearch.evaluation.bundle import Bundle
from treesearch.evaluation.results import Verdict
from treesearch.lineage import Lineage, Standing, standing
from treesearch.records import (
    Accuracy,
    Entry,
    Evaluation,
    Measurement,
    Purpose,
    Ratio,
    Remeasurement,
    Status,
    Timing,
)
from treesearch.testing import ScriptedEndpoint

pytestmark = [pytest.mark.compiler, pytest.mark.untimed]

WRONG = "output out of a nominal call: 3 of 64 rows beyond the tolerance"


@pytest.fixture
def split(tmp_path: Path) -> Iterator[Split]:
    """A search for one first kernel, which has a verdict that nobody had to give."""
    with scripted.settings(), ScriptedEndpoint(scripted.right) as endpoint:
        found = Split(tmp_path, endpoint, away.write_device(tmp_path, away.target()))
        packed = bundle.read(found.waits(rounds=0, beam=1))
        timing, accuracy = Timing((1.0, 1.0)), Accuracy(15, 1e-7, 1e-7, "float64", "float32-like")
        measurement = Measurement(timing, timing, Ratio(1.0, 0.9, 1.1))
        judged = Evaluation(
            Status.VERIFIED,
            device.cpu().id,
            packed.protocol,
            "",
            accuracy,
            measurement,
            created="2029-01-01T00:00:00+00:00",
        )
        found.absorb(written(found, packed, judged))
        yield found


def entries(split: Split) -> tuple[Entry, ...]:
    with Archive(split.archive, read_only=True) as store:
        run = store.latest_run()
        assert run is not None
        return store.entries(run.id)


def measured(split: Split) -> tuple[Remeasurement, ...]:
    with Archive(split.archive, read_only=True) as store:
        return store.remeasurements([entry.kernel.id for entry in entries(split)])


def written(split: Split, packed: Bundle, evaluation: Evaluation) -> Path:
    """Results of a bundle of one kernel, as `work` writes them."""
    [kernel] = packed.kernels
    verdict = Verdict(packed.digest, kernel.id, kernel.digest, evaluation)
    path = split.folder / "back.results.jsonl"
    path.write_text(results.header(packed, device.cpu()).text + verdict.text)
    return path


def again(entry: Entry) -> Evaluation:
    """The verdict of a kernel, as if another had come of another deck."""
    assert entry.evaluation is not None
    return replace(entry.evaluation, seed=7, created="2030-01-01T00:00:00+00:00")


def test_a_run_stops_once_for_the_winners_final_measurement_and_ends_with_it(split: Split) -> None:
    with pytest.raises(Waiting, match=r"^1 kernel is to be measured again on ") as stopped:
        split.search(rounds=0, beam=1)
    path = split.folder / stopped.value.pending[0].removeprefix("copy to that machine: ")
    assert split.waits(rounds=0, beam=1) == path, "the same waiting work is the same bundle"
    packed = bundle.read(path)
    [entry] = entries(split)
    assert (packed.purpose, [kernel.id for kernel in packed.kernels]) == (Purpose.FINAL, [entry.kernel.id])
    back = written(split, packed, again(entry))
    assert (split.absorb(back), split.absorb(back)) == (1, 0), "what was stored is not stored twice"
    result = split.search(rounds=0, beam=1)
    assert result.winner == entry, "its verdict stays what it was"
    assert measured(split) == (Remeasurement(entry.kernel.id, Purpose.FINAL, again(entry)),)


def test_a_winner_that_is_wrong_there_is_suspect_and_the_run_goes_on_without_it(split: Split) -> None:
    packed = bundle.read(split.waits(rounds=0, beam=1))
    [entry] = entries(split)
    failed = replace(again(entry), status=Status.WRONG, error=WRONG, accuracy=None, measurement=None)
    back = written(split, packed, failed)
    assert (split.absorb(back), split.absorb(back)) == (1, 0)
    [entry] = entries(split)
    assert standing(entry) is Standing.SUSPECT
    assert entry.evaluation is not None
    assert entry.evaluation.error.endswith(f"wrong when it was measured again: {WRONG}")
    assert Lineage([entry]).fastest() is None


def test_a_measurement_for_another_kernel_than_the_runs_is_refused(split: Split) -> None:
    packed = bundle.read(split.waits(rounds=0, beam=1))
    [entry] = entries(split)
    other = replace(packed, kernels=(replace(packed.kernels[0], id="0" * 12),))
    with pytest.raises(UsageError, match="has no kernel 000000000000"):
        split.absorb(written(split, other, again(entry)))
    assert measured(split) == ()


def test_work_measures_what_a_bundle_asks_for_in_its_order_and_says_why(tmp_path: Path) -> None:
    path = away.packed(tmp_path, [scripted.source(scripted.BROKEN, mark) for mark in "abc"])
    asked = replace(bundle.read(path), purpose=Purpose.FINAL)
    bundle.write(path, asked.text)
    done = work.work(path, say=lambda line: None)
    found = results.read(done.results)
    assert (found.header.bundle, found.header.purpose) == (asked.digest, Purpose.FINAL)
    assert [verdict.kernel for verdict in found.verdicts] == ["k0", "k1", "k2"]
    done.results.write_text(found.header.text + found.verdicts[1].text)
    assert work.work(path, say=lambda line: None).fresh == 2, "what is there is not measured again"
