"""`replay/ARCHIVE`: a recorded search answers again; what is built and measured is live."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace

from treesearch.errors import AnswersExhausted
from treesearch.records import Answer, Request, Stage, Usage

Recordings = Sequence[tuple[Request, Answer]]
"""The stored requests of one problem with their answers, in the order recorded."""

Place = tuple[Stage, str, str]
"""Stage, digest of the parent's source, ordinal."""


class ReplayModel:
    """A model that gives the recorded answer to the request in the same place of a search.

    The place is (problem, parent's source, stage, ordinal), so it does not depend on the run or the round. Where
    several recordings hold one place, the first wins. Repeating an answer uses no tokens and costs nothing.
    """

    def __init__(self, name: str, recordings: Recordings) -> None:
        self.name = name
        self._recordings = tuple(recordings)
        self._answers: dict[tuple[str, Place], Answer] = {}
        for request, answer in self._recordings:
            if not answer.failure:
                self._answers.setdefault((request.problem, _place(request)), answer)
        self._places = {place for _, place in self._answers}
        self._misses = 0
        self._counting = threading.Lock()

    @property
    def misses(self) -> int:
        """Requests so far that had no recorded answer."""
        return self._misses

    def ask(self, request: Request) -> Answer:
        """The recorded answer, which costs nothing now; raises AnswersExhausted where there is none."""
        answer = self._answers.get((request.problem, _place(request)))
        if answer is None:
            raise AnswersExhausted(self._miss(request))
        return replace(
            answer,
            model=self.name,
            answered_by=answer.answered_by or answer.model,
            usage=Usage(0, 0, 0.0),
            seconds=None,
            created="",
        )

    def has(self, stage: Stage, parent: str, ordinal: str) -> bool:
        """Whether an answer is recorded; `parent` is the digest of a kernel's source, empty in round 0."""
        return (stage, parent, ordinal) in self._places

    def described(self) -> str:
        """One clause on the recording: `recorded 2026-11-21, answered by NAME via file/`."""
        if not self._recordings:
            return "nothing recorded for this problem"
        answers = [answer for _, answer in self._recordings]
        return f"recorded {_dates(answers)}, answered by {_listed(_answerer(answer) for answer in answers)}"

    def _miss(self, request: Request) -> str:
        with self._counting:
            self._misses += 1
        about = f"kernel {request.parent[:12]}" if request.parent else "the problem"
        return (
            f"{self.name} holds no answer to {request.stage} {request.ordinal} about {about}; "
            "name a live model to search on from here"
        )


def _place(request: Request) -> Place:
    return request.stage, request.parent, request.ordinal


def _dates(answers: Sequence[Answer]) -> str:
    days = sorted({answer.created[:10] for answer in answers if answer.created})
    if not days:
        return "at an unknown date"
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _answerer(answer: Answer) -> str:
    if not answer.answered_by or answer.answered_by == answer.model:
        return answer.model
    return f"{answer.answered_by} via {answer.model.partition('/')[0]}/"


def _listed(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return distinct[0] if len(distinct) == 1 else f"{', '.join(distinct[:-1])} and {distinct[-1]}"
