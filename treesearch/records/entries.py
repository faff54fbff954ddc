"""Kernels beside their verdicts, as a lineage has them."""

from __future__ import annotations

from dataclasses import dataclass

from treesearch.records.evaluations import Evaluation, Status
from treesearch.records.kernels import Idea, Kernel


@dataclass(frozen=True)
class Entry:
    """A kernel of a lineage with its evaluation, which is None while it is due.

    What kernels are ranked and linked by has a name here, so that the rest need not be in memory.
    """

    kernel: Kernel
    evaluation: Evaluation | None = None

    @property
    def id(self) -> str:
        return self.kernel.id

    @property
    def round(self) -> int:
        return self.kernel.round

    @property
    def ordinal(self) -> str:
        return self.kernel.ordinal

    @property
    def digest(self) -> str:
        """That of the kernel's source."""
        return self.kernel.digest

    @property
    def idea(self) -> Idea | None:
        return self.kernel.idea

    @property
    def proposed(self) -> str:
        """Id of the proposal that it implements; empty in round 0."""
        return self.kernel.proposal.id if self.kernel.proposal else ""

    @property
    def promise(self) -> float:
        """The speed-up that its idea predicts; 0 without an idea."""
        return self.kernel.idea.expected_speedup if self.kernel.idea else 0.0

    @property
    def banned(self) -> bool:
        """Whether a person has banned its idea."""
        return self.kernel.proposal is not None and self.kernel.proposal.banned

    @property
    def status(self) -> Status | None:
        return self.evaluation.status if self.evaluation else None

    @property
    def verified(self) -> bool:
        return self.status is Status.VERIFIED

    @property
    def milliseconds(self) -> float | None:
        return self.evaluation.milliseconds if self.evaluation else None

    @property
    def gain(self) -> float | None:
        """The lower end of its speed-up over its parent, where they were launched in turn."""
        measured = self.evaluation.measurement if self.evaluation else None
        return measured.parent_speedup.low if measured and measured.parent_speedup else None
