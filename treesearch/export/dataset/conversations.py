"""Rows of `conversations`: idea, code, feedback and repair as the messages that models read and wrote."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from treesearch.export.dataset.nodes import Exchange, Subject, reward
from treesearch.export.dataset.rows import Call, Conversation, Function, Message
from treesearch.lineage import Lineage
from treesearch.records import Entry, Relation, Turn

Turns = Mapping[str, tuple[Turn, ...]]


def attempts(lineage: Lineage) -> Iterator[tuple[Entry, ...]]:
    """Each kernel that nothing repairs, after those that it repairs: the first attempt at an idea comes first."""
    for entry in lineage.entries:
        if not lineage.children(entry.kernel.id, (Relation.REPAIRS,)):
            yield tuple(reversed(tuple(_repaired(lineage, entry))))


def _repaired(lineage: Lineage, entry: Entry) -> Iterator[Entry]:
    yield entry
    while lineage.relation(entry.kernel.id) is Relation.REPAIRS and (broken := lineage.parent(entry.kernel.id)):
        entry = broken
        yield entry


def questions(attempt: Sequence[Entry]) -> tuple[str, ...]:
    """Ids of the requests that led through an attempt, that for its idea first; empty where nobody was asked."""
    proposal = attempt[0].kernel.proposal
    return (proposal.answer if proposal else "", *(entry.kernel.answer for entry in attempt))


def conversation(
    about: Subject, attempt: Sequence[Entry], asked: Mapping[str, Exchange], turns: Turns
) -> Conversation | None:
    """An attempt as messages; None where no kernel of it has an answer to learn from."""
    answered = [entry for entry in attempt if entry.kernel.answer in asked and asked[entry.kernel.answer][1].text]
    if not answered:
        return None
    ids = [id for id in questions(answered) if id in asked and asked[id][1].text]
    last = answered[-1]
    rewards = tuple(reward(entry.evaluation) for entry in answered)
    messages = tuple(_messages([(asked[id], turns.get(id, ())) for id in ids]))
    return Conversation(
        conversation=last.kernel.id,
        run=about.run.id,
        problem=about.run.problem_name,
        language=last.kernel.language,
        kernels=tuple(entry.kernel.id for entry in answered),
        statuses=tuple(entry.evaluation.status if entry.evaluation else None for entry in answered),
        rewards=rewards,
        reward=rewards[-1],
        models=tuple(asked[id][1].answered_by or asked[id][1].model for id in ids),
        uses_tools=any(message.tool_calls for message in messages),
        licence=about.licence(last.kernel.source),
        messages=messages,
    )


def _messages(exchanges: Sequence[tuple[Exchange, tuple[Turn, ...]]]) -> Iterator[Message]:
    said: set[str] = set()
    for (request, answer), turns in exchanges:
        yield Message("user", unsaid(request.prompt, said))
        said.update(section.strip() for section in _sections(request.prompt))
        for turn in turns:
            if turn.model == answer.model:
                yield from _called(turn)
        yield Message("assistant", answer.text)


def unsaid(prompt: str, said: Collection[str]) -> str:
    """The prompt without the sections that earlier messages hold word for word; its beginning always stays."""
    first, *others = _sections(prompt)
    return "".join([first, *(section for section in others if section.strip() not in said)])


def _sections(prompt: str) -> list[str]:
    """Split before each heading of the second level."""
    return re.split(r"^(?=## )", prompt, flags=re.MULTILINE)


def _called(turn: Turn) -> Iterator[Message]:
    """A turn with what each call reported. Ids that a model left out are made up, since the reports refer to them."""
    calls = tuple(
        Call(call.id or f"call_{turn.number}_{place}", Function(call.tool, call.arguments))
        for place, call in enumerate(turn.calls)
    )
    yield Message("assistant", turn.text, tool_calls=calls)
    for call, report in zip(calls, turn.reports, strict=False):
        yield Message("tool", report, tool_call_id=call.id)
