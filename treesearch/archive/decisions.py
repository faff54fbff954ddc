"""What a person decided about ideas: to rows and back, and whose word is about which proposal.

Nothing stored is edited: decisions are appended, and what they mean for a proposal is worked out when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from treesearch import records as r
from treesearch.archive import mapping
from treesearch.archive import schema as s
from treesearch.archive.connect import plain


def decision_row(decision: r.Decision) -> s.DecisionRow:
    idea = decision.idea
    return s.DecisionRow(
        id=decision.id,
        run=decision.run,
        verb=decision.verb,
        parent=decision.parent,
        about=decision.about,
        reason=decision.reason,
        by=decision.by,
        created=decision.created,
        title=idea.title,
        category=idea.category,
        mechanism=idea.mechanism,
        expected_speedup=mapping.storable(idea.expected_speedup),
        risk=idea.risk,
        refutation=idea.refutation,
    )


def decision_of(row: s.DecisionRow) -> r.Decision:
    said = row.parent, row.about, row.reason, row.by, row.created
    return r.Decision(row.run, r.Verb(row.verb), mapping.idea_of(row), *said)


def of_run(session: Session, run_id: str) -> tuple[r.Decision, ...]:
    """A run's decisions, oldest first."""
    query = select(s.DecisionRow).where(s.DecisionRow.run == run_id)
    rows = session.scalars(query.order_by(s.DecisionRow.created, s.DecisionRow.id))
    return tuple(map(decision_of, rows))


def proposals_of(known: tuple[r.Decision, ...]) -> Callable[[s.IdeaRow], r.Proposal]:
    """What makes a proposal of a row, with the decisions about it, given all of its run's."""

    def proposal(row: s.IdeaRow) -> r.Proposal:
        found = mapping.proposal_of(row)
        return replace(found, decisions=tuple(one for one in known if one.idea.name == found.idea.name))

    return proposal if known else mapping.proposal_of


def proposals(session: Session, which: ColumnElement[bool], known: tuple[r.Decision, ...]) -> dict[str, r.Proposal]:
    """The proposals of which that is true by their ids, by round and ordinal, with the decisions about them."""
    query = select(*s.IdeaRow.__table__.c).where(which).order_by(s.IdeaRow.round, s.IdeaRow.ordinal)
    proposal_of = proposals_of(known)
    return {row.id: proposal_of(row) for row in cast("Sequence[s.IdeaRow]", plain(session, query))}
