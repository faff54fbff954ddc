"""A policy of your own: a function from a lineage and a beam to the ids of the next round's parents.

    python examples/custom_policy.py [MODEL]

This one takes the fastest kernel of each category of ideas, so that no kind of optimization crowds out the others.
"""

import sys

import treesearch
from treesearch.lineage import Lineage


def one_of_each_category(lineage: Lineage, beam: int) -> tuple[str, ...]:
    """Verified kernels, fastest first, the first of each idea's category before any second one."""
    firsts: list[str] = []
    others: list[str] = []
    seen = set()
    for entry in lineage.verified():
        category = entry.kernel.idea.category if entry.kernel.idea else None
        (others if category in seen else firsts).append(entry.kernel.id)
        seen.add(category)
    return tuple([*firsts, *others][:beam])


def main() -> None:
    models = sys.argv[1:2] or ["replay/"]
    result = treesearch.search(
        "softmax_small", models=models, rounds=1, ideas=2, implementations=1, beam=2, policy=one_of_each_category
    )
    for entry in result.lineage.path(result.winner.kernel.id):
        idea = entry.kernel.idea.title if entry.kernel.idea else "first kernel"
        print(f"round {entry.kernel.round}: {entry.milliseconds:.3g} ms  {idea}")


if __name__ == "__main__":
    main()
