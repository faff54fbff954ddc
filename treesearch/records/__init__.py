"""The nouns of treesearch as frozen records. Standard library only; illegal states cannot be built."""

from treesearch.records.asking import Answer, Request, Sampling, Stage, Usage
from treesearch.records.digest import digest
from treesearch.records.evaluations import (
    Accuracy,
    Build,
    Device,
    Entry,
    Evaluation,
    Label,
    Measurement,
    Protocol,
    Rate,
    Ratio,
    Resources,
    Status,
    Timing,
)
from treesearch.records.kernels import Category, Edge, Idea, Kernel, Proposal, Relation
from treesearch.records.problems import Argument, Problem, Role, Signature
from treesearch.records.runs import Config, Round, Run, RunState

__all__ = [
    "Accuracy",
    "Answer",
    "Argument",
    "Build",
    "Category",
    "Config",
    "Device",
    "Edge",
    "Entry",
    "Evaluation",
    "Idea",
    "Kernel",
    "Label",
    "Measurement",
    "Problem",
    "Proposal",
    "Protocol",
    "Rate",
    "Ratio",
    "Relation",
    "Request",
    "Resources",
    "Role",
    "Round",
    "Run",
    "RunState",
    "Sampling",
    "Signature",
    "Stage",
    "Status",
    "Timing",
    "Usage",
    "digest",
]
