"""From samples to figures: medians, and speed-ups with their intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from treesearch.records import Ratio, Timing

RESAMPLES = 2000
MARGIN_MS, MARGIN_SHARE, MOST_ASKING = 0.15, 0.05, 0.25
"""What a launch may take beyond the worker's reading of it, seen from outside: so long, such a share of the reading,
and what asking takes, though no more than so long.

Honest kernels leave something that is about as noisy as asking is, and hardly longer where launches are (0.03 to 6 ms):
in the quarter of launches where it shows least 0.00 to 0.08 ms on two calm cores, where asking takes 0.1 to 0.15; 0.05
to 0.4 in an hour in which it takes 0.2 to 0.3; and up to 0.05 on an H100."""
OVERLONG, TICK_MS = 1.01, 0.01
"""How much longer than all that is seen from outside a reading may be, so many times and so much: a GPU has a clock of
its own."""
ROW_MS, GPU_ROW_MS, ROW_SHARE = 0.3, 0.1, 0.1
"""What launches in a row may take beyond single ones, so long together and such a share of each, before it is their
time that counts. A GPU's are steadier: on an H100 rows of 18 honest launches took 0.06 ms less than the single ones
together to 0.08 ms and a tenth more."""
LIE_SHARE = 0.25
"""The share beyond which the worker lies, unless it reads as much for them itself."""
DENIED = 1.5
"""Times its own reading that a burst takes at least, if the worker lies."""
BURST_MS = 5.0
"""What a burst should take at least, so that what a kernel hides in each launch adds up."""
MOST_LAUNCHES = 64
STRATA_FACTOR = 1.5
STRATA_MS = 0.05
FEWEST_STRATA = 3
"""Fewer kinds of stressed calls say nothing: one of them may be slow for a reason, such as subnormal numbers."""


@dataclass(frozen=True)
class Burst:
    """So many launches in a row, as the controller and the worker saw them (ms)."""

    times: int
    outside: float
    overhead: float
    """What as many turns without launches took."""
    inside: float | None = None
    """What the worker read for the same launches together (ms), where it did."""
    uncertain: float = ROW_MS
    """What cannot be told of all of them together (ms), as far as it is not what asking takes."""

    @property
    def each(self) -> float:
        return (self.outside - self.overhead) / self.times

    @property
    def owned(self) -> bool:
        """Whether the worker says itself that its launches took about as long as is seen."""
        return self.inside is not None and not _longer(self, self.inside / self.times, LIE_SHARE)

    @property
    def denied(self) -> bool:
        """Whether the worker's reading of the same launches is too short for all that is uncertain around them."""
        uncertain = self.uncertain + self.overhead / 2
        return self.inside is not None and self.outside - self.overhead > DENIED * self.inside + uncertain


def speedup(baseline: Timing, kernel: Timing) -> Ratio:
    """Ratio of medians, baseline ÷ kernel, with a 95 % bootstrap interval.

    Samples are paired (taken in turn on the same inputs), so pairs are what is resampled; the fixed seed makes
    the interval a function of the samples.
    """
    pairs = torch.tensor([baseline.samples, kernel.samples], dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(pairs.shape[1], (RESAMPLES, pairs.shape[1]), generator=generator)
    medians = pairs[:, drawn].quantile(0.5, dim=2)
    low, high = (medians[0] / medians[1]).quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return Ratio(baseline.median / kernel.median, low, high)


def disagreement(inside: Timing, outside: Timing, crossing: Timing) -> str:
    """Why the worker's readings cannot be believed beside the controller's own around the same launches, or nothing.

    `crossing` is what a question to the worker takes that launches nothing: two pipe crossings and the wake-ups
    of both processes, on a machine as busy as it is. The three are taken together, sample by sample; `margin` covers
    what the subtraction leaves. Three launches in four have to disagree: interruptions lengthen what is seen from
    outside, on a busy machine more often than not, and nothing shortens it. Nor can a launch take longer inside than
    outside: a worker that says so has bursts of fewer launches, in each of which it may hide more.
    """
    pairs = zip(inside.samples, outside.samples, strict=True)
    if any(within > OVERLONG * around + TICK_MS for within, around in pairs):
        return "the clocks disagree: a launch took longer by the worker's clock than passed outside meanwhile"
    triples = zip(outside.samples, crossing.samples, inside.samples, strict=True)
    differences = sorted(around - asking - within for around, asking, within in triples)
    unexplained = differences[len(differences) // 4]
    if unexplained <= margin(inside.median, crossing.median):
        return ""
    return (
        f"the clocks disagree: {inside.median:.3g} ms in the worker, {outside.median:.3g} ms seen from outside around "
        f"the same launches, of which asking takes {crossing.median:.2g} ms"
    )


def margin(inside: float, crossing: float) -> float:
    """Milliseconds that the controller may see of a launch beyond the worker's reading and what asking takes."""
    return MARGIN_MS + MARGIN_SHARE * inside + min(crossing, MOST_ASKING)


def burst_times(inside_milliseconds: float) -> int:
    """How many launches of such a length make a burst."""
    return min(max(1, math.ceil(BURST_MS / inside_milliseconds)), MOST_LAUNCHES)


def hidden(inside: Timing, bursts: Sequence[Burst]) -> str:
    """Why the worker's readings cannot be believed beside bursts of launches, or nothing.

    What asking leaves uncertain is shared by the launches of a burst, so the margin for each is a few microseconds.
    Launches in a row that take longer than single ones are accepted, as `slowed`, where the worker reads as much
    itself; and where they do not, its reading of them may still be too short in every burst. The quickest burst is what
    counts: interruptions lengthen bursts, and nothing shortens work that has to be done.
    """
    least, found = _least(bursts), _slower(inside, bursts, LIE_SHARE)
    if least and all(burst.denied for burst in least):
        found = _quickest(bursts)
    elif found is not None and found.owned:
        return ""
    if found is None:
        return ""
    own = "" if found.inside is None else f" and {found.inside / found.times:.3g} ms for one of many"
    return (
        f"the clocks disagree: {inside.median:.3g} ms for a single launch{own} in the worker, {found.each:.3g} ms for "
        f"each of {found.times} in a row seen from outside"
    )


def slowed(inside: Timing, bursts: Sequence[Burst]) -> Timing:
    """The readings, none of them shorter than launches in a row are where those take clearly longer than single ones.

    Threads that contend do so when all are awake, which single launches may be over before. That is no lie, but
    whoever calls the kernel in a loop has the longer time; and what is done before a launch, or hidden from the clock
    in single launches alone, gains nothing.
    """
    burst = _slower(inside, bursts, ROW_SHARE)
    return inside if burst is None else Timing(tuple(max(sample, burst.each) for sample in inside.samples))


def _slower(inside: Timing, bursts: Sequence[Burst], share: float) -> Burst | None:
    """The quickest burst, if its launches take clearly longer than single ones."""
    quickest = _quickest(bursts)
    return quickest if quickest is not None and _longer(quickest, inside.median, share) else None


def _quickest(bursts: Sequence[Burst]) -> Burst | None:
    return min(_least(bursts), key=lambda burst: burst.each, default=None)


def _least(bursts: Sequence[Burst]) -> list[Burst]:
    """The bursts, with the shortest time that what surrounds a launch ever took.

    Interruptions lengthen that as well, and one that hits it alone would hide the launches.
    """
    turn = min((burst.overhead / burst.times for burst in bursts), default=0.0)
    return [replace(burst, overhead=turn * burst.times) for burst in bursts]


def _longer(burst: Burst, single: float, share: float) -> bool:
    """Whether its launches take longer than a single one of so many milliseconds, by such a share and what is
    uncertain."""
    return burst.each > (1 + share) * single + burst.uncertain / burst.times


def slower_on_stress(nominal: Timing, stressed: Sequence[float]) -> str:
    """Why nominal calls cannot be believed to be ordinary work beside stressed ones (ms, one each), or nothing.

    Every kind of stress weighs the same. The comparison is one-sided: being faster on ties or constants is no shame.
    """
    if len(stressed) < FEWEST_STRATA:
        return ""
    median = statistics.median(stressed)
    if median <= STRATA_FACTOR * nominal.median + STRATA_MS:
        return ""
    return (
        f"slower on stressed inputs: {median:.3g} ms, and {nominal.median:.3g} ms on those that its time is taken on; "
        "a kernel may not tell them apart"
    )


def too_fast(kernel: Timing, floor_milliseconds: float) -> str:
    """Why the time is shorter than moving the bytes that provably matter takes, wherever they stay, or nothing."""
    if kernel.median >= floor_milliseconds:
        return ""
    return (
        f"{kernel.median:.3g} ms is less than moving the bytes that matter takes at the very best "
        f"({floor_milliseconds:.3g} ms)"
    )
