"""How long things take that a user waits for: help, the first verdict, every further verdict.

    python benchmarks/latency.py [PROBLEM KERNEL]

Prints seconds, and the verdict's parts as shares of it, all from one run on this machine.
"""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from treesearch import languages, problem
from treesearch.evaluation import device
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Protocol

REPEATS = 5


def seconds_of_help() -> float:
    """Median wall time of `treesearch --help`."""
    command = [str(Path(sys.executable).with_name("treesearch")), "--help"]
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return median(times)


def main() -> None:
    name, file = sys.argv[1:] or ("bias_silu_clamp", "examples/bias_silu_clamp.cpp")
    source = Path(file).read_text()
    subject = problem.load(name)
    protocol = Protocol(subject.tolerance, threads=device.cores())
    print(f"treesearch --help: {seconds_of_help():.3f} s")
    with Evaluator(subject, languages.of_file(Path(file)), protocol) as evaluator:
        started = time.perf_counter()
        evaluator.evaluate(source)
        print(f"first verdict, deck and baselines included: {time.perf_counter() - started:.1f} s")
        builds, totals = [], []
        for repeat in range(REPEATS):
            changed = f"{source}\n// {time.time_ns()} {repeat}\n"  # another content, so that it is built anew
            started = time.perf_counter()
            evaluation = evaluator.evaluate(changed)
            totals.append(time.perf_counter() - started)
            builds.append(evaluation.build.seconds if evaluation.build else 0.0)
        print(f"answer to verdict ({evaluation.status}): {median(totals):.2f} s, of which build {median(builds):.2f} s")
    print(f"{device.cpu().name}, {device.cores()} cores; medians of {REPEATS}")


if __name__ == "__main__":
    main()
