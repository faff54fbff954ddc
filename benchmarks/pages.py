"""How soon pages and commands answer on a large archive.

    python -m benchmarks.pages prepare -o FILE [--runs N] [--kernels N] [--largest N]

Writes an archive of 100 runs and 100,000 kernels, 5,000 of them in one run, or as many as are named: some 1.7 GB, in
two minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks import large
from treesearch.errors import TreesearchError, UsageError


def prepare(path: Path, runs: int, kernels: int, largest: int) -> None:
    """Make the archive and say how large it is. Raises UsageError where the file is there already."""
    if path.exists():
        raise UsageError(f"{path} is there already; name a file that is not, or remove it.")
    started = time.perf_counter()
    large.prepare(path, runs, kernels, largest)
    seconds, size = time.perf_counter() - started, path.stat().st_size
    print(f"{path}: {runs} runs, {kernels} kernels, {size / 1e6:.0f} MB in {seconds:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = commands.add_parser("prepare", help="write a large archive")
    preparing.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    preparing.add_argument("--runs", type=int, default=100, metavar="N", help="by default 100")
    preparing.add_argument("--kernels", type=int, default=100_000, metavar="N", help="of all runs; by default 100,000")
    preparing.add_argument("--largest", type=int, default=5000, metavar="N", help="of the first run; by default 5,000")
    given = parser.parse_args()
    try:
        prepare(given.output, given.runs, given.kernels, given.largest)
    except TreesearchError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from error


if __name__ == "__main__":
    main()
