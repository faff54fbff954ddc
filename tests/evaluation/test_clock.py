"""From samples to medians, intervals and accusations; and that timing has the machine to itself."""

from __future__ import annotations

import random
import threading

import pytest

from treesearch.evaluation import cache, clock, device, lanes
from treesearch.records import Measurement, Ratio, Timing


def around(median: float, seed: int, count: int = 40, spread: float = 0.05) -> Timing:
    chance = random.Random(seed)
    return Timing(tuple(median * chance.lognormvariate(0, spread) for _ in range(count)))


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
def test_the_interval_holds_the_true_ratio(ratio: float) -> None:
    held = 0
    for seed in range(40):
        measured = clock.speedup(around(ratio, 2 * seed), around(1, 2 * seed + 1))
        assert measured.low <= measured.value <= measured.high
        held += measured.low <= ratio <= measured.high
    assert held >= 34  # 95 % of 40 is 38; fewer than 34 would come about once in a hundred sets of seeds


def test_more_noise_widens_the_interval() -> None:
    calm, noisy = (clock.speedup(around(2, 1, spread=s), around(1, 2, spread=s)) for s in (0.01, 0.3))
    assert noisy.high - noisy.low > 5 * (calm.high - calm.low)


def test_the_interval_is_a_function_of_the_samples() -> None:
    baseline, kernel = around(2, 1), around(1, 2)
    assert clock.speedup(baseline, kernel) == clock.speedup(baseline, kernel)


def test_one_sample_of_each_gives_the_bare_ratio() -> None:
    assert clock.speedup(Timing((3.0,)), Timing((2.0,))) == Ratio(1.5, 1.5, 1.5)


@pytest.mark.parametrize(
    ("inside", "outside", "crossing", "agree"),
    [
        (1.0, 1.1, 0.1, True),
        (1.0, 1.39, 0.1, True),
        (1.0, 1.41, 0.1, False),
        (1.0, 2.44, 1.0, True),
        (1.0, 2.46, 1.0, False),
        (0.001, 5.0, 0.2, False),
        (100, 105, 0.1, True),
        (100, 106, 0.1, False),
    ],
)
def test_clocks_may_differ_by_what_asking_costs(inside: float, outside: float, crossing: float, agree: bool) -> None:
    said = clock.disagreement(Timing((inside,)), Timing((outside,)), Timing((crossing,)))
    assert (said == "") is agree
    if not agree:
        assert f"{inside:.3g} ms in the worker, {outside:.3g} ms seen from outside" in said


def test_one_interruption_accuses_nobody() -> None:
    assert clock.disagreement(Timing((1.0,) * 9), Timing((1.1,) * 8 + (900.0,)), Timing((0.1,) * 9)) == ""


def test_no_launch_takes_longer_inside_than_is_seen_from_outside() -> None:
    """A worker that says so once has others believed to be long, and launched in a row less often."""
    inside, outside = Timing((5.0,) + (1.0,) * 8), Timing((1.1,) * 9)
    assert "than passed outside" in clock.disagreement(inside, outside, Timing((0.1,) * 9))
    by_a_tick = Timing((1.105,) + (1.0,) * 8)
    assert clock.disagreement(by_a_tick, outside, Timing((0.1,) * 9)) == ""


@pytest.mark.parametrize(
    ("inside", "times"), [(0.0001, 64), (0.078, 64), (0.1, 50), (1.0, 5), (4.9, 2), (5.0, 1), (900, 1)]
)
def test_a_burst_takes_some_milliseconds(inside: float, times: int) -> None:
    assert clock.burst_times(inside) == times


@pytest.mark.parametrize(
    ("inside", "times", "each", "believed"),
    [
        (0.01, 64, 0.017, True),
        (0.01, 64, 0.018, False),
        (0.1, 50, 0.130, True),
        (0.1, 50, 0.132, False),
        (20, 1, 25.2, True),
        (20, 1, 25.4, False),
        (1, 5, 0.1, True),
    ],
)
def test_a_burst_tells_what_each_launch_hides(inside: float, times: int, each: float, believed: bool) -> None:
    """A quarter of the reading, and of 0.3 ms each launch's share, may be hidden."""
    said = clock.hidden(Timing((inside,)), [clock.Burst(times, times * each, 0.0)])
    assert (said == "") is believed
    if not believed:
        assert f"{inside:.3g} ms for a single launch in the worker, {each:.3g} ms for each of {times}" in said


@pytest.mark.parametrize(("owned", "lies"), [(0.8, False), (0.7, True), (0.2, True), (5.0, False)])
def test_a_worker_that_owns_up_to_slower_launches_in_a_row_does_not_lie(owned: float, lies: bool) -> None:
    single = Timing((0.2, 0.5, 2.0))
    bursts = [clock.Burst(10, 20.0, 0.0, 20.0), clock.Burst(10, 10.0, 0.0, 10 * owned)]
    assert (clock.hidden(single, bursts) != "") is lies
    assert clock.slowed(single, bursts) == Timing((1.0, 1.0, 2.0)), "its time is that of launches in a row either way"


def test_a_worker_that_divides_all_its_readings_lies_however_quick_its_launches_in_a_row_are() -> None:
    """0.63 ms singly and 0.45 in a row, all of it divided by 1.8."""
    bursts = 3 * [clock.Burst(14, 6.3, 0.0, 3.5)]
    said = clock.hidden(Timing((0.35,)), bursts)
    assert "0.35 ms for a single launch and 0.25 ms for one of many in the worker, 0.45 ms for each of 14" in said


@pytest.mark.parametrize(
    ("outside", "overhead", "inside", "believed"),
    [
        (2.4, 0.9, 0.87, True),  # half of what surrounds the launches is uncertain
        (2.4, 0.2, 0.87, False),
        (6.3, 0.0, 3.5, False),
        (6.3, 0.0, 4.1, True),
    ],
)
def test_quick_bursts_are_held_against_the_reading_of_the_same_launches(
    outside: float, overhead: float, inside: float, believed: bool
) -> None:
    lying = clock.Burst(14, outside, overhead, inside)
    assert (clock.hidden(Timing((9.0,)), 3 * [lying]) == "") is believed
    assert clock.hidden(Timing((9.0,)), [lying, lying, clock.Burst(14, 7.0, overhead, 7.0)]) == "", "once is enough"


def test_launches_in_a_row_that_take_as_long_as_single_ones_change_no_reading() -> None:
    single = Timing((0.2, 0.5, 2.0))
    assert clock.slowed(single, [clock.Burst(10, 5.7, 0.0, 5.7)]) == single
    assert clock.slowed(single, []) == single


def test_launches_in_a_row_that_take_clearly_longer_are_the_kernels_time_before_anybody_lies() -> None:
    single, row = Timing((0.2, 0.5, 2.0)), [clock.Burst(10, 6.0, 0.0)]
    assert clock.hidden(single, row) == ""
    assert clock.slowed(single, row) == Timing((0.6, 0.6, 2.0))


def test_what_surrounds_launches_does_not_hide_them_where_it_was_interrupted() -> None:
    single = Timing((0.2,))
    bursts = [clock.Burst(10, 11.0, 1.0), clock.Burst(10, 11.0, 9.0)]
    assert "1 ms for each of 10" in clock.hidden(single, bursts)
    assert clock.slowed(single, bursts) == Timing((1.0,))


def test_one_interrupted_burst_accuses_nobody_and_none_says_nothing() -> None:
    bursts = [clock.Burst(64, 80.0, 0.0), clock.Burst(64, 0.6, 0.0), clock.Burst(64, 90.0, 0.0)]
    assert clock.hidden(Timing((0.01,)), bursts) == ""
    assert "1.25 ms for each of 64" in clock.hidden(Timing((0.01,)), [bursts[0], bursts[2]])
    assert clock.hidden(Timing((0.01,)), []) == ""


@pytest.mark.parametrize(
    ("nominal", "stressed", "believed"),
    [
        (1.0, (1.0, 1.5, 1.5), True),
        (1.0, (1.0, 1.6, 1.6), False),
        (1.0, (9.0, 9.0), True),
        (1.0, (1.0, 1.1, 9.0, 9.0, 1.2), True),
        (0.01, (0.06, 0.06, 0.06), True),
        (0.01, (0.07, 0.07, 0.07), False),
        (1.0, (0.1, 0.1, 0.1), True),
    ],
)
def test_most_kinds_of_stress_must_be_slower_to_cast_doubt(
    nominal: float, stressed: tuple[float, ...], believed: bool
) -> None:
    assert (clock.slower_on_stress(Timing((nominal,)), stressed) == "") is believed


@pytest.mark.parametrize("samples", [(), (1.0, 0.0), (1.0, -1.0)])
def test_a_timing_without_positive_samples_cannot_exist(samples: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="positive"):
        Timing(samples)


def test_the_better_baseline_is_the_one_to_beat() -> None:
    kernel, eager, compiled = Timing((1.0,)), Timing((4.0,)), Timing((3.0,))
    both = Measurement(kernel, eager, Ratio(4, 4, 4), compiled, Ratio(3, 3, 3))
    assert both.speedup.value == 3
    assert Measurement(kernel, compiled, Ratio(3, 3, 3), eager, Ratio(4, 4, 4)).speedup.value == 3
    assert Measurement(kernel, eager, Ratio(4, 4, 4)).speedup.value == 4
    with pytest.raises(ValueError, match="both a timing and a speed-up"):
        Measurement(kernel, eager, Ratio(4, 4, 4), compiled)


def test_quartiles_enclose_the_median() -> None:
    timing = Timing((5.0, 1.0, 3.0, 2.0, 4.0))
    assert (timing.median, timing.quartiles) == (3.0, (2.0, 4.0))
    assert Timing((2.0,)).quartiles == (2.0, 2.0)


def test_timing_waits_for_builds_and_builds_wait_for_timing() -> None:
    order: list[str] = []
    building, go_on = threading.Event(), threading.Event()

    def build() -> None:
        with cache.building():
            building.set()
            assert go_on.wait(10)
            order.append("built")

    def measure() -> None:
        with cache.timing():
            order.append("timed")

    builder, timer = threading.Thread(target=build), threading.Thread(target=measure)
    builder.start()
    assert building.wait(10)
    timer.start()
    with cache.building():  # a second build shares the machine with the first, while the timing waits
        order.append("built too")
    timer.join(0.2)
    go_on.set()
    builder.join(10)
    timer.join(10)
    assert order == ["built too", "built", "timed"]


def test_a_time_below_what_moving_its_bytes_takes_is_not_believed() -> None:
    assert "less than moving the bytes that matter" in clock.too_fast(Timing((1e-6,)), 0.03)
    assert clock.too_fast(Timing((0.7,)), 0.03) == ""


def test_the_floor_of_a_cpu_is_what_its_cores_can_store() -> None:
    lane = lanes.of(device.cpu())
    assert 0.001 < lane.quickest(16 << 20) * device.cores() < 0.1
    assert lane.quickest(4096) * device.cores() < 1e-3, "a small output may well be fast"
