"""Kernels that stay in the archive: what ranks one is in memory, and the rest is read when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache

from sqlalchemy.orm import Session

from treesearch.archive import decisions, mapping, verdicts, whole
from treesearch.archive import schema as s
from treesearch.records import Entry, Evaluation, Idea, Kernel, Status

AT_HAND = 64
"""Kernels, and as many verdicts, that are kept for whoever asks next: more than a round has parents."""
IDEAS_AT_HAND = 4096
"""Ideas that are kept: every question for ideas tells of many of those before it."""


class Shelf:
    """What the archive holds of one run's kernels; for any thread."""

    def __init__(self, run: str, reading: Callable[[], AbstractContextManager[Session]]) -> None:
        """`run` is the run's id; `reading` opens a session."""
        self._run, self._reading = run, reading
        self.kernel = lru_cache(AT_HAND)(self._kernel)
        """A kernel by its id."""
        self.evaluation = lru_cache(AT_HAND)(self._evaluation)
        """A verdict by the number of its row."""
        self.idea = lru_cache(IDEAS_AT_HAND)(self._idea)
        """An idea by the id of its proposal."""

    def _kernel(self, id: str) -> Kernel:
        with self._reading() as session:
            return whole.kernels_of(session, self._run, decisions.of_run(session, self._run), [id])[id]

    def _evaluation(self, row: int) -> Evaluation:
        with self._reading() as session:
            return verdicts.evaluation_of(session.get_one(s.EvaluationRow, row))

    def _idea(self, proposal: str) -> Idea:
        with self._reading() as session:
            return mapping.idea_of(session.get_one(s.IdeaRow, proposal))


class Shelved(Entry):
    """A kernel of which all that is long is read from the archive each time, by whoever asks for it."""

    __slots__ = (
        "banned",
        "digest",
        "gain",
        "id",
        "milliseconds",
        "ordinal",
        "promise",
        "proposed",
        "round",
        "shelf",
        "status",
        "verdict",
    )

    id: str
    round: int
    ordinal: str
    digest: str
    proposed: str
    promise: float
    banned: bool
    status: Status | None
    milliseconds: float | None
    gain: float | None

    def __init__(
        self, shelf: Shelf, id: str, round: int, ordinal: str, digest: str, proposed: str, promise: float, banned: bool
    ) -> None:
        self.shelf, self.id, self.round, self.ordinal, self.digest = shelf, id, round, ordinal, digest
        self.proposed, self.promise, self.banned = proposed, promise, banned
        self.verdict: int | None = None
        """Number of the row of its newest verdict."""
        self.status = self.milliseconds = self.gain = None

    def judged(self, verdict: int, status: Status, milliseconds: float | None, gain: float | None) -> Shelved:
        """The same kernel with another verdict."""
        place = self.id, self.round, self.ordinal, self.digest
        one = Shelved(self.shelf, *place, self.proposed, self.promise, self.banned)
        one.verdict, one.status, one.milliseconds, one.gain = verdict, status, milliseconds, gain
        return one

    @property
    def kernel(self) -> Kernel:
        return self.shelf.kernel(self.id)

    @property
    def evaluation(self) -> Evaluation | None:
        return None if self.verdict is None else self.shelf.evaluation(self.verdict)

    @property
    def idea(self) -> Idea | None:
        return self.shelf.idea(self.proposed) if self.proposed else None

    def __eq__(self, other: object) -> bool:
        """It is the same as the entry that is read whole."""
        if isinstance(other, Shelved) and other.shelf is self.shelf:
            return (self.id, self.verdict) == (other.id, other.verdict)
        if not isinstance(other, Entry) or type(other) not in (Entry, Shelved):
            return NotImplemented
        return (self.kernel, self.evaluation) == (other.kernel, other.evaluation)

    def __hash__(self) -> int:
        return hash((self.kernel, self.evaluation))

    def __repr__(self) -> str:
        return f"Shelved({self.id!r}, {self.status})"
