"""Reading an archive: which ideas paid, by category, and what the failures were.

python examples/read_archive.py [ARCHIVE]
"""

import sys
from collections import Counter, defaultdict
from statistics import median

import treesearch
from treesearch import resources
from treesearch.lineage import Lineage


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else resources.record()
    with treesearch.Archive(path, read_only=True) as archive:
        for run in archive.runs():
            entries = archive.entries(run.id)
            lineage = Lineage(entries, archive.edges(run.id))
            statuses = Counter(str(entry.evaluation.status) for entry in entries if entry.evaluation)
            print(f"{run.problem_name}, run {run.id}: {dict(statuses)}")

            gains = defaultdict(list)
            for entry in lineage.verified():
                for outcome in lineage.outcomes(entry.kernel.id):
                    if outcome.ratio is not None:
                        gains[str(outcome.idea.category)].append(outcome.ratio)
            for category, ratios in sorted(gains.items()):
                paid = sum(ratio > 1 for ratio in ratios)
                print(f"  {category}: {paid} of {len(ratios)} ideas paid, median {median(ratios):.2f}× the parent")


if __name__ == "__main__":
    main()
