"""A search wired by hand: every part that `treesearch.search` puts together, in one file.

    python examples/by_hand.py

Answers come from the shipped record, so it needs no key; name another model string to search for real. A new model
would be any object with a `name` and an `ask(request) -> Answer`.
"""

import sys
from pathlib import Path

from treesearch import loop, policies, problem, resources
from treesearch.archive import Archive
from treesearch.evaluation import device
from treesearch.evaluation.evaluator import Evaluator
from treesearch.events import Event, Judged
from treesearch.languages import CPP
from treesearch.models import Pool, ReplayModel
from treesearch.records import Config, Protocol
from treesearch.steps.task import Task


def tell(event: Event) -> None:
    """An observer is any function of an event."""
    if isinstance(event, Judged) and event.entry.evaluation is not None:
        print(
            event.entry.kernel.ordinal, event.entry.evaluation.status, event.entry.milliseconds or "", file=sys.stderr
        )


def main() -> None:
    subject = problem.load("bias_silu_clamp")
    with Archive(resources.record(), read_only=True) as record:
        model = ReplayModel("replay/", record.answers_for(subject.digest))

    config = Config(models=(model.name,), rounds=1, ideas=2, implementations=1, beam=2, repairs=0)
    protocol = Protocol(subject.tolerance, config.deadline_seconds, threads=device.cores())

    Path(".treesearch").mkdir(exist_ok=True)
    with Archive(".treesearch/by_hand.db") as archive, Evaluator(subject, CPP, protocol) as evaluator:
        run = archive.open_run(subject, config, device.cpu())
        task = Task(
            run=run,
            problem=subject,
            language=CPP,
            device=device.cpu(),
            models=Pool(ideas=[model], code=[model]),
            policy=policies.fastest,
            archive=archive,
            evaluator=evaluator,
            can_answer=model.has,
            observe=tell,
        )
        lineage = loop.search(task)

    winner = lineage.fastest()
    assert winner is not None, "a search without a verified kernel raises"
    assert winner.evaluation is not None
    measured = winner.evaluation.measurement
    assert measured is not None
    print(f"{winner.kernel.id}: {measured.kernel.median:.3g} ms, {measured.speedup.value:.2f}× the better baseline")


if __name__ == "__main__":
    main()
