"""Later measurements and comparisons, in every database."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from treesearch.archive import Archive
from treesearch.records import Comparison, Configuration, Outcome, Purpose, Ratio, Remeasurement, Run, Timing

if TYPE_CHECKING:
    from tests.archive.conftest import Samples


@pytest.fixture
def run(archive: Archive, samples: Samples) -> Run:
    return samples.fill(archive)


def remeasured(samples: Samples, kernel: str, created: str = "2026-01-02T03:04:05+00:00") -> Remeasurement:
    tried = (
        Configuration("TF32", error="37 of 4096 elements are off"),
        Configuration("max-autotune", Timing((0.5, 0.6)), Ratio(2.5, 2.4, 2.6)),
    )
    measurement = replace(samples.measurement, configurations=tried)
    return Remeasurement(kernel, Purpose.FINAL, samples.verified(measurement=measurement, created=created))


def compared(samples: Samples, first: str, second: str, created: str) -> Comparison:
    return Comparison(first, second, samples.device.id, Ratio(1.02, 1.01, 1.03), 40, Outcome.FASTER, created)


def test_a_later_measurement_comes_back_whole_and_changes_no_verdict(
    archive: Archive, samples: Samples, run: Run
) -> None:
    before = archive.entries(run.id)
    measured = remeasured(samples, before[0].kernel.id)
    archive.save_remeasurement(measured)
    archive.save_remeasurement(measured)
    assert archive.remeasurements([before[0].kernel.id]) == (measured,)
    assert archive.remeasurements([entry.kernel.id for entry in before[1:]]) == ()
    assert archive.entries(run.id) == before


def test_one_without_a_date_gets_the_time_of_writing(archive: Archive, samples: Samples, run: Run) -> None:
    kernel = archive.entries(run.id)[0].kernel.id
    archive.save_remeasurement(remeasured(samples, kernel, created=""))
    [stored] = archive.remeasurements([kernel])
    assert stored.evaluation.created


def test_a_comparison_is_found_from_both_sides_oldest_first(archive: Archive, samples: Samples, run: Run) -> None:
    kernel = archive.entries(run.id)[0].kernel.id
    later = compared(samples, kernel, "elsewhere", "2026-01-03T00:00:00+00:00")
    earlier = compared(samples, kernel, "elsewhere", "2026-01-02T00:00:00+00:00")
    for one in (later, earlier, later):
        archive.save_comparison(one)
    assert archive.comparisons(kernel) == archive.comparisons("elsewhere") == (earlier, later)
    assert archive.comparisons("nobody") == ()


def test_they_are_merged_with_their_run(archive: Archive, samples: Samples, run: Run, tmp_path: Path) -> None:
    kernel = archive.entries(run.id)[0].kernel.id
    archive.save_remeasurement(remeasured(samples, kernel))
    archive.save_comparison(compared(samples, kernel, "elsewhere", "2026-01-02T00:00:00+00:00"))
    with Archive(tmp_path / "target.db") as target:
        target.merge(archive, run.id)
        target.merge(archive, run.id)
        assert target.remeasurements([kernel]) == archive.remeasurements([kernel]) != ()
        assert target.comparisons(kernel) == archive.comparisons(kernel) != ()
