"""What there is to beat: eager, torch.compile and the roofline floor of problems on this machine's GPU.

    python benchmarks/problems.py [PROBLEM…]

Prints one Markdown row for each problem, by default all that ship; times are medians in milliseconds, with a cold L2
cache, on fresh draws of the inputs. Needs torch with CUDA; no kernel is built.
"""

from __future__ import annotations

import statistics
import sys
import time

from treesearch import problem, roofline
from treesearch.evaluation import device, lanes
from treesearch.evaluation.bench import Bench
from treesearch.records import Problem, Protocol

SAMPLES = 20


def main() -> None:
    hardware = device.local("cuda")
    rates = ", ".join(f"{rate.precision} {rate.flops / 1e12:.0f}" for rate in hardware.rates)
    print(f"{hardware.name}: copy {(hardware.bandwidth or 0) / 1e12:.2f} TB/s; matmul in TFLOP/s: {rates}\n")
    print("| problem | eager ms | torch.compile ms | floor ms | set by | GFLOP | GB | checked calls | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or [listed.name for listed in problem.shipped()]:
        subject = problem.load(name)
        started = time.monotonic()
        times, calls = measured(subject)
        floor = roofline.floor(subject, hardware)
        assert floor is not None, "the GPU was measured"
        bound = f"{floor.bound} ({floor.precision})" if floor.precision else floor.bound
        moved = subject.bytes_read + subject.bytes_written
        row: list[object] = [name, times["eager"], times.get("compile", "–"), f"{floor.milliseconds:.3g}", bound]
        row += [f"{(subject.flops or 0) / 1e9:.3g}", f"{moved / 1e9:.3g}", calls, f"{time.monotonic() - started:.1f}"]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def measured(subject: Problem) -> tuple[dict[str, str], int]:
    """Median milliseconds of each baseline, and how many calls of the deck are checked."""
    lane = lanes.of(device.local("cuda"))
    bench = Bench.set_up(subject, Protocol(subject.tolerance), lane, seed=1)
    try:
        samples: dict[str, list[float]] = {kind: [] for kind in bench.baselines.kinds}
        for turn in range(SAMPLES):
            call = bench.deck.spares[turn % len(bench.deck.spares)]
            bench.sets[turn % 2].fill(call.values)
            lane.join()
            for kind, times in samples.items():
                times.append(bench.baselines.time(kind, turn % 2, call.scalars))
        return {kind: f"{statistics.median(times):.3g}" for kind, times in samples.items()}, len(bench.deck.calls)
    finally:
        bench.close()


if __name__ == "__main__":
    main()
