"""A run's kernels, read again and again as they become more, and little of each kept.

Rows of kernels, of edges and of verdicts are added and never edited, so that only those are read which were not there
the time before, and none where their number is the same. What counts is worked out anew wherever a row, a finding or a
person's decision is new.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from treesearch.archive import decisions, whole
from treesearch.archive import schema as s
from treesearch.archive.findings import Finding
from treesearch.archive.mapping import real
from treesearch.archive.shelf import Shelf, Shelved
from treesearch.archive.whole import BY_AGE, Above, among, natural
from treesearch.lineage import Lineage
from treesearch.records import Decision, Edge, Entry, Status, digest

NO_SOURCE = digest("")


class Growing:
    """The lineage of one run, whose kernels are shelved but for those that a finding is about. Only one thread may use
    it at a time."""

    def __init__(self, run: str, reading: Callable[[], AbstractContextManager[Session]]) -> None:
        """`run` is the run's id; `reading` opens a session for whoever asks for what is not kept."""
        self.run, self._reading = run, reading
        self._shelf = Shelf(run, reading)
        self._decisions: tuple[Decision, ...] = ()
        self._kernels: dict[str, Shelved] = {}
        self._edges: list[Edge] = []
        self._seen: set[int] = set()
        self._sizes: tuple[int, int] | None = None
        self._weighed_by: tuple[dict[str, Finding], Above] = {}, {}
        self._lineage: Lineage | None = None

    def lineage(self, session: Session) -> Lineage:
        """The same one as before where nothing is new."""
        self._heed_decisions(session)
        sizes = self._sizes_of_tables(session)  # first, so that what is stored meanwhile is new the next time
        if sizes != self._sizes:
            self._read_kernels(session)
            self._read_verdicts(session)
            self._sizes = sizes
        suspicions = whole.suspicions(session)
        if self._lineage is None or suspicions != self._weighed_by:
            self._lineage, self._weighed_by = self._weighed(session, *suspicions), suspicions
        return self._lineage

    def _heed_decisions(self, session: Session) -> None:
        """Have all kernels read anew where a person has decided about ideas since, of which kernels tell."""
        decided = decisions.of_run(session, self.run)
        if decided != self._decisions:
            self._decisions, self._lineage, self._sizes = decided, None, None
            self._shelf = Shelf(self.run, self._reading)
            self._kernels.clear()
            self._edges.clear()
            self._seen.clear()

    def _sizes_of_tables(self, session: Session) -> tuple[int, int]:
        """How many kernels the run has, and how many verdicts there are: counted far sooner than their ids are read."""
        kernels = select(func.count()).where(s.KernelRow.run == self.run).scalar_subquery()
        judged = select(func.count()).select_from(s.EvaluationRow).scalar_subquery()
        row = session.execute(select(kernels, judged)).one()
        return row[0], row[1]

    def _read_kernels(self, session: Session) -> None:
        there = select(s.KernelRow.id).where(s.KernelRow.run == self.run)
        new = set(session.scalars(there)) - self._kernels.keys()
        if not new:
            return
        banned, proposals = self._banned(session), dict[str, str]()
        row = s.KernelRow
        query = select(row.id, row.round, row.ordinal, row.digest, row.idea, s.IdeaRow.expected_speedup)
        query = query.outerjoin(s.IdeaRow, row.idea == s.IdeaRow.id).where(row.run == self.run, among(row.id, new))
        for id, number, ordinal, content, idea, promise in session.execute(query):
            if id in new:
                proposed = proposals.setdefault(idea or "", idea or "")  # one text for all of an idea's kernels
                place = id, number, ordinal, content or NO_SOURCE, proposed
                expected = real(promise) if idea else 0.0
                self._kernels[id] = Shelved(self._shelf, *place, expected, proposed in banned)
        self._lineage = None
        self._edges += (self._shared(edge) for edge in whole.edges_of(session, self.run, new))

    def _banned(self, session: Session) -> set[str]:
        """Ids of the proposals whose ideas a person has banned."""
        if not self._decisions:
            return set()
        proposals = decisions.proposals(session, s.IdeaRow.run == self.run, self._decisions)
        return {id for id, one in proposals.items() if one.banned}

    def _shared(self, edge: Edge) -> Edge:
        """The edge with the texts of the kernels that it names."""
        parent, child = (self._kernels[id].id if id in self._kernels else id for id in (edge.parent, edge.child))
        return Edge(parent, child, edge.relation)

    def _read_verdicts(self, session: Session) -> None:
        row = s.EvaluationRow
        device = select(s.RunRow.device).where(s.RunRow.id == self.run).scalar_subquery()
        about = s.KernelRow.run == self.run, row.device == device
        there = select(row.id).join(s.KernelRow, row.kernel == s.KernelRow.id).where(*about)
        new = set(session.scalars(there)) - self._seen
        told = select(row.id, row.kernel).join(s.KernelRow, row.kernel == s.KernelRow.id)
        pairs = session.execute(told.where(*about, among(row.id, new))).all() if new else ()
        judged = {id: kernel for id, kernel in pairs if id in new and kernel in self._kernels}
        if judged:
            self._keep_newest(session, set(judged.values()))
            self._lineage = None
            self._seen |= judged.keys()

    def _keep_newest(self, session: Session, kernels: Collection[str]) -> None:
        """The newest verdicts on these kernels count, whatever was kept."""
        row = s.EvaluationRow
        device = select(s.RunRow.device).where(s.RunRow.id == self.run).scalar_subquery()
        query = select(row.kernel, row.id, row.status, row.milliseconds, row.parent_speedup, row.parent_speedup_low)
        query = query.join(s.KernelRow, row.kernel == s.KernelRow.id)
        query = query.where(s.KernelRow.run == self.run, row.device == device, among(row.kernel, kernels))
        for kernel, id, status, milliseconds, ratio, low in session.execute(query.order_by(*BY_AGE)):
            if kernel in kernels:
                gain = None if ratio is None else real(low)
                self._kernels[kernel] = self._kernels[kernel].judged(id, Status(status), milliseconds, gain)

    def _weighed(self, session: Session, found: dict[str, Finding], above: Above) -> Lineage:
        """The lineage, with those kernels whole that were found suspect, or came from such a one."""
        doubted = self._kernels.keys() & (found.keys() | above.keys())
        judged = {entry.id: entry for entry in whole.entries(session, self.run, doubted)} if doubted else {}
        entries: dict[str, Entry] = {**self._kernels, **judged}
        ordered = sorted(entries.values(), key=lambda entry: (entry.round, natural(entry.ordinal)))
        # Another process may have stored a kernel since they were read.
        return Lineage(ordered, self._edges)
