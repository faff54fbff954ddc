"""What launches of two kernels in turn say: which of them is faster, and how sure that is.

Processes of one kernel differ: by where their memory lies, by what the machine did while they lived. So a duel consists
of sittings, each in processes of its own, and what is weighed is one figure a sitting, however many launches it rests
on: Student's t for the means of a few clusters, which is conservative where some of them scatter more than others
(Ibragimov and Müller 2010, doi:10.1198/jbes.2009.08046).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from treesearch.records import Outcome, Ratio

QUICKEST = 0.1
"""Share of a kernel's launches in a sitting whose mean is its time there.

Interruptions lengthen launches, and nothing shortens work that has to be done. On a busy machine most are interrupted,
so that even the medians of one kernel's two processes are ten percent and more apart."""
LOOKS = {3: 15.76, 4: 8.05, 6: 4.26, 8: 3.50, 10: 3.25, 12: 2.88}
"""After so many sittings the interval is looked at, and reaches so many standard errors to either side.

To look again is a further chance to be wrong. These are Student's quantiles that leave out 0.4, 0.4, 0.8, 1, 1 and
1.5 % in both tails together; equal kernels are declared different 3 times in 100, in 40,000 simulated duels."""
LEAST_DEVIATION = 0.001
"""Of sittings' log ratios: clocks tick, and three sittings may agree to the last bit by chance."""
ALIKE = 0.01
"""Kernels that are certainly no further apart need not be told apart."""
HOPELESS = 6
"""Sittings from which on a duel ends that has found a difference of less than one standard error: of two kernels 2 %
apart it gives up on 1 in 100 where sittings deviate by 1.5 %, and equal ones take a quarter fewer."""


def log_ratio(first: Sequence[float], second: Sequence[float], *, interrupted: bool = True) -> float:
    """Of the second kernel's time to the first's, from all launches of one sitting (ms).

    Where none is `interrupted`, as on a GPU, medians count: a kernel that now and then does less work than it should
    would win by its quickest launches.
    """
    typical = _undisturbed if interrupted else statistics.median
    return math.log(typical(second) / typical(first))


def _undisturbed(times: Sequence[float]) -> float:
    return statistics.fmean(sorted(times)[: max(1, round(QUICKEST * len(times)))])


def settle(sit: Callable[[], float], late: Callable[[], bool] = lambda: False) -> Ratio:
    """The ratio after no more sittings than it takes, of which `sit` gives the log ratio. None begins behind a look at
    which it is `late`."""
    sittings: list[float] = []
    for look in LOOKS:
        sittings += [sit() for _ in range(look - len(sittings))]
        found = weigh(sittings)
        if _settled(found, look) or late():
            break
    return found


def weigh(sittings: Sequence[float]) -> Ratio:
    """What the log ratios of so many sittings say, at a look: over all looks together the interval holds the true
    ratio at least 95 times in 100."""
    middle = statistics.fmean(sittings)
    error = max(statistics.stdev(sittings), LEAST_DEVIATION) / math.sqrt(len(sittings))
    reach = LOOKS[len(sittings)] * error
    return Ratio(*map(math.exp, (middle, middle - reach, middle + reach)))


def outcome(ratio: Ratio) -> Outcome:
    """What the first kernel is, given the second's time ÷ its own."""
    if ratio.low > 1:
        return Outcome.FASTER
    return Outcome.SLOWER if ratio.high < 1 else Outcome.INCONCLUSIVE


def _settled(ratio: Ratio, sittings: int) -> bool:
    """Whether more sittings would say no more, or nothing that matters."""
    alike = max(1 / ratio.low, ratio.high) < 1 + ALIKE
    errors = LOOKS[sittings] * abs(math.log(ratio.value)) / math.log(ratio.high / ratio.value)
    hopeless = sittings >= HOPELESS and errors < 1
    return alike or hopeless or outcome(ratio) is not Outcome.INCONCLUSIVE
