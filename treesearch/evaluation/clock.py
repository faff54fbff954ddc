"""From samples to figures: medians, and speed-ups with their intervals."""

from __future__ import annotations

import torch

from treesearch.records import Ratio, Timing

RESAMPLES = 2000
MARGIN_MS = 0.3
MARGIN_SHARE = 0.25


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
    of both processes, on a machine as busy as it is. The margins cover what that leaves; medians are compared, so
    that one interruption accuses nobody.
    """
    if outside.median - crossing.median - inside.median <= MARGIN_MS + MARGIN_SHARE * inside.median:
        return ""
    return (
        f"the clocks disagree: {inside.median:.3g} ms in the worker, {outside.median:.3g} ms seen from outside around "
        f"the same launches, of which asking takes {crossing.median:.2g} ms"
    )


def too_fast(kernel: Timing, floor_milliseconds: float) -> str:
    """Why the time is shorter than writing the outputs alone takes, wherever they stay, or nothing.

    Inputs do not count: a kernel may rightly read only some of them.
    """
    if kernel.median >= floor_milliseconds:
        return ""
    return (
        f"{kernel.median:.3g} ms is less than writing the outputs takes at the very best ({floor_milliseconds:.3g} ms)"
    )
