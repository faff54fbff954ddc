"""Which of two kernels is faster: how often that is said wrongly, of times as kernels have them in turn."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from treesearch.evaluation import weighing
from treesearch.evaluation.weighing import ALIKE, HOPELESS, LOOKS
from treesearch.records import Outcome, Ratio

DUELS = 400
PAIRS = 36
TAILS = {3: 0.004, 4: 0.004, 6: 0.008, 8: 0.01, 10: 0.01, 12: 0.015}
"""What each look leaves out, in both tails together."""


class Launches:
    """Sittings of two kernels: each process has a speed of its own, and some launches are interrupted."""

    def __init__(self, seed: int, difference: float, *, processes: float = 0.005, interrupted: float = 0.1) -> None:
        self.chance = random.Random(seed)
        self.difference, self.processes, self.interrupted = difference, processes, interrupted
        self.sittings = 0

    def sit(self) -> float:
        self.sittings += 1
        return weighing.log_ratio(self._process(1.0), self._process(1 + self.difference))

    def _process(self, true: float) -> list[float]:
        speed = true * self.chance.lognormvariate(0, self.processes)
        return [speed * self.chance.lognormvariate(0, 0.01) * self._longer() for _ in range(PAIRS)]

    def _longer(self) -> float:
        return self.chance.uniform(1.1, 4.0) if self.chance.random() < self.interrupted else 1.0


def outcomes(difference: float, **machine: float) -> list[Outcome]:
    launches = (Launches(seed, difference, **machine) for seed in range(DUELS))
    return [weighing.outcome(weighing.settle(one.sit)) for one in launches]


@pytest.mark.parametrize("processes", [0.001, 0.005, 0.02])
def test_equal_kernels_are_declared_different_at_most_once_in_twenty(processes: float) -> None:
    """However much processes of one kernel differ, which nobody tells the duel."""
    said = outcomes(0.0, processes=processes)
    assert DUELS - said.count(Outcome.INCONCLUSIVE) <= DUELS / 20


@pytest.mark.parametrize("interrupted", [0.1, 0.7])
def test_two_percent_are_seen_nineteen_times_in_twenty(interrupted: float) -> None:
    """Also where most launches are interrupted, as beside a busy neighbour."""
    said = outcomes(0.02, interrupted=interrupted)
    assert said.count(Outcome.FASTER) >= 0.95 * DUELS
    assert Outcome.SLOWER not in said


def test_the_interval_holds_the_true_ratio_over_all_looks() -> None:
    ratios = [weighing.settle(Launches(seed, 0.05).sit) for seed in range(DUELS)]
    assert sum(ratio.low <= 1.05 <= ratio.high for ratio in ratios) >= 0.95 * DUELS
    assert all(ratio.low < ratio.value < ratio.high for ratio in ratios)


def test_interruptions_that_hit_one_kernel_alone_are_no_slowness() -> None:
    quiet = [1.0] * PAIRS
    assert weighing.log_ratio(quiet, [*[1.0] * 4, *[3.0] * (PAIRS - 4)]) == 0.0
    assert weighing.log_ratio(quiet, [1.25] * PAIRS) == pytest.approx(math.log(1.25))
    assert weighing.log_ratio([1.0], [2.0]) == pytest.approx(math.log(2)), "of the fewest launches too"


def test_a_kernel_that_is_quick_now_and_then_gains_nothing_where_launches_are_not_interrupted() -> None:
    lottery = [*[0.5] * (PAIRS // 8), *[1.0] * (PAIRS - PAIRS // 8)]
    assert weighing.log_ratio(lottery, [1.0] * PAIRS, interrupted=False) == 0.0
    assert weighing.log_ratio(lottery, [1.0] * PAIRS) == pytest.approx(math.log(2)), "unlike on a CPU"


def test_no_more_sittings_than_it_takes() -> None:
    def sittings(difference: float) -> int:
        launches = Launches(1, difference)
        weighing.settle(launches.sit)
        return launches.sittings

    assert sittings(0.5) == sittings(-0.3) == min(LOOKS)
    assert sittings(0.02) < max(LOOKS)


def test_kernels_that_are_alike_for_certain_need_no_more_sittings() -> None:
    asked: list[float] = []

    def sit() -> float:
        asked.append(0.001 + 0.001 * (-1) ** len(asked))
        return asked[-1]

    found = weighing.settle(sit)
    assert len(asked) < HOPELESS
    assert weighing.outcome(found) is Outcome.INCONCLUSIVE
    assert 1 - ALIKE < found.low < found.high < 1 + ALIKE


def test_a_duel_that_will_hardly_find_a_difference_ends_at_half_time() -> None:
    def sittings(middle: float) -> int:
        asked: list[float] = []

        def sit() -> float:
            asked.append(middle + 0.02 * (-1) ** len(asked))
            return asked[-1]

        assert weighing.outcome(weighing.settle(sit)) is Outcome.INCONCLUSIVE
        return len(asked)

    assert sittings(0.001) == HOPELESS
    assert sittings(0.012) == max(LOOKS)


@pytest.mark.parametrize(("looks", "expected"), [(0, 3), (1, 4), (2, 6)])
def test_a_duel_that_runs_out_of_time_says_what_it_knows_at_the_next_look(looks: int, expected: int) -> None:
    """Three sittings are the fewest that say anything."""
    asked: list[float] = []

    def sit() -> float:
        asked.append(0.03 * (-1) ** len(asked))
        return asked[-1]

    answers = iter([False] * looks + [True])
    found = weighing.settle(sit, late=lambda: next(answers))
    assert (len(asked), weighing.outcome(found)) == (expected, Outcome.INCONCLUSIVE)


def test_sittings_that_agree_to_the_last_bit_are_not_certain_of_it() -> None:
    """As they may by chance where a clock's tick is coarse."""
    assert weighing.outcome(weighing.weigh([0.001] * 3)) is Outcome.INCONCLUSIVE
    assert weighing.outcome(weighing.weigh([0.02] * 3)) is Outcome.FASTER


@pytest.mark.parametrize("count", list(LOOKS))
def test_a_look_leaves_out_its_share_of_a_students_distribution(count: int) -> None:
    assert student_tails(LOOKS[count], count - 1) == pytest.approx(TAILS[count], rel=0.02)
    assert LOOKS.keys() == TAILS.keys()
    assert list(LOOKS) == sorted(LOOKS)


def student_tails(limit: float, freedom: int) -> float:
    """Beyond ±limit: the density, by Simpson's rule over an angle that maps to all of the line."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)

    def density(angle: float) -> float:
        return scale * math.cos(angle) ** (freedom - 1)

    edge, steps = math.atan(limit / math.sqrt(freedom)), 1000
    width = (math.pi / 2 - edge) / steps
    weights = (1, *(4 if step % 2 else 2 for step in range(1, steps)), 1)
    return 2 * width / 3 * sum(weight * density(edge + step * width) for step, weight in enumerate(weights))


def test_the_ratio_is_the_mean_of_the_sittings() -> None:
    found = weighing.weigh([0.01, 0.02, 0.06])
    error = statistics.stdev([0.01, 0.02, 0.06]) / math.sqrt(3)
    assert found == Ratio(math.exp(0.03), math.exp(0.03 - LOOKS[3] * error), math.exp(0.03 + LOOKS[3] * error))


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (Ratio(1.1, 1.01, 1.2), Outcome.FASTER),
        (Ratio(0.9, 0.8, 0.99), Outcome.SLOWER),
        (Ratio(1.1, 0.99, 1.2), Outcome.INCONCLUSIVE),
    ],
)
def test_a_kernel_is_called_faster_only_if_the_whole_interval_says_so(ratio: Ratio, said: Outcome) -> None:
    assert weighing.outcome(ratio) is said
