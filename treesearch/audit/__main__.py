"""The audit where neither click nor rich is installed.

python -m treesearch.audit [FAMILY…] [--without CHECK] [--only NAME] [-o FILE] [--json] [-v]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from treesearch.audit import corpus, report
from treesearch.audit.judging import Moment, audit
from treesearch.errors import TreesearchError
from treesearch.evaluation.checks import Check


def main(words: Sequence[str]) -> int:
    """Run `python -m treesearch.audit WORDS…`; returns the exit code."""
    given = _parser().parse_args(words)
    try:
        cases = corpus.choose(corpus.read(corpus.folder()), given.families, given.only)
        found = audit(cases, without=frozenset(map(Check, given.without)), observe=_observe, output=given.output)
    except TreesearchError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    if given.json:
        print(json.dumps(report.data(found), ensure_ascii=False, indent=2))
    else:
        print(report.plain(found, verbose=given.verbose))
    return found.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m treesearch.audit",
        description="Judge kernels that cheat, and honest ones that look like them, against what is expected of each.",
    )
    checks = [str(check) for check in Check]
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="families of attacks, by default all of them")
    parser.add_argument("--without", action="append", default=[], choices=checks, help="leave a check out")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a kernel, by its file's name")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="put verdicts there, and go on from it")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every kernel, not misses alone")
    return parser


def _observe(moment: Moment) -> None:
    if moment.result is not None and moment.result.ran:
        lines = "\n".join(report.said(moment.result))
        print(f"{moment.done}/{moment.total} {lines}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # without waiting for threads that still build
