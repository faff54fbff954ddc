"""What a worker of the open lane is told of a problem."""

from __future__ import annotations

import base64
import pickle
from dataclasses import asdict
from typing import Any

import torch

from treesearch.evaluation.open import contract
from treesearch.problem.reference import Reference
from treesearch.records import Problem


def told(problem: Problem, device: str) -> dict[str, Any]:
    """The arguments' shapes and types, what `get_init_inputs()` returns, to construct a ModelNew with, and what memory
    the reference's answers are in.

    The worker gets neither the reference nor anything else of it.
    """
    reference = Reference(problem.name, problem.source)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        arguments = pickle.dumps(reference.module.get_init_inputs())
    return {
        "device": device,
        "signature": [asdict(argument) for argument in problem.signature.arguments],
        "init_inputs": base64.b64encode(arguments).decode(),
        "answers": contract.of_reference(reference),
    }
