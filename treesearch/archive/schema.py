"""The tables. Column names are public: people query archives with plain SQL.

Ids are the ones that the records compute. Real numbers that may be NaN are nullable, because SQLite stores NaN as
NULL. Structured values that no query needs to look into are JSON.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column

from treesearch.archive.texts import CleanText, PackedText

Json = Annotated[list[Any], mapped_column(JSON(none_as_null=True))]
Record = Annotated[dict[str, Any], mapped_column(JSON(none_as_null=True))]
Long = Annotated[int, mapped_column(BigInteger)]


class Base(MappedAsDataclass, DeclarativeBase, kw_only=True):
    type_annotation_map: ClassVar[dict[Any, Any]] = {str: CleanText, float: Double, int: Integer, bool: Boolean}
    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "ix": "ix_%(table_name)s_%(column_0_name)s",
        }
    )


class ProblemRow(Base):
    __tablename__ = "problems"

    digest: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    source: Mapped[str]
    tolerance: Mapped[float]
    precision: Mapped[str]
    signature: Mapped[Json]
    flops: Mapped[Long | None]


class DeviceRow(Base):
    """`bandwidth` is in bytes a second; each of `rates` is a precision with its operations a second."""

    __tablename__ = "devices"

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    name: Mapped[str]
    cores: Mapped[int]
    memory_bytes: Mapped[Long]
    features: Mapped[Json]
    caches: Mapped[Json]
    architecture: Mapped[str]
    clock_mhz: Mapped[int | None]
    memory_clock_mhz: Mapped[int | None]
    shared_memory_bytes: Mapped[int | None]
    bandwidth: Mapped[float | None]
    rates: Mapped[Json]
    software: Mapped[Json]
    noise: Mapped[float | None]


class RunRow(Base):
    """`identity` is the digest of the configuration without `rounds`, `budget` and `prices`; `sequence` counts runs
    alike, from 1. `stopped` says which limit a run ended at."""

    __tablename__ = "runs"
    __table_args__ = (UniqueConstraint("problem", "identity", "device", "sequence"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    problem: Mapped[str] = mapped_column(ForeignKey("problems.digest"))
    device: Mapped[str] = mapped_column(ForeignKey("devices.id"))
    identity: Mapped[str]
    sequence: Mapped[int]
    state: Mapped[str]
    created: Mapped[str]
    models: Mapped[Json]
    idea_models: Mapped[Json]
    code_models: Mapped[Json]
    language: Mapped[str]
    rounds: Mapped[int]
    ideas: Mapped[int]
    implementations: Mapped[int]
    beam: Mapped[int]
    repairs: Mapped[int]
    policy: Mapped[str]
    deadline_seconds: Mapped[float]
    temperature: Mapped[float | None]
    max_tokens: Mapped[int | None]
    reasoning_effort: Mapped[str | None]
    budget: Mapped[Record]
    prices: Mapped[Json]
    stopped: Mapped[str]


class RoundRow(Base):
    __tablename__ = "rounds"

    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    parents: Mapped[Json]
    decisions: Mapped[Json]


class PassageRow(Base):
    """A part of prompts; `digest` is the beginning of the digest of `text`."""

    __tablename__ = "passages"

    digest: Mapped[str] = mapped_column(Text, primary_key=True)
    text: Mapped[str] = mapped_column(PackedText(worth=1 << 10))


class AnswerRow(Base):
    """A request and its answer; `id` is the request's, `templates` the digest of what its prompt was made from.

    `passages` are the digests of those that the prompt consists of, in order. Where it is NULL, `prompt` is all of it.
    """

    __tablename__ = "answers"

    id: Mapped[str] = mapped_column(primary_key=True)
    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), index=True)
    round: Mapped[int]
    stage: Mapped[str]
    problem: Mapped[str] = mapped_column(ForeignKey("problems.digest"), index=True)
    parent: Mapped[str]
    ordinal: Mapped[str]
    prompt: Mapped[str] = mapped_column(PackedText)
    text: Mapped[str] = mapped_column(PackedText)
    model: Mapped[str]
    answered_by: Mapped[str]
    help: Mapped[str]
    temperature: Mapped[float | None]
    max_tokens: Mapped[int | None]
    reasoning_effort: Mapped[str | None]
    input_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    cost_usd: Mapped[float | None]
    seconds: Mapped[float | None]
    failure: Mapped[str]
    created: Mapped[str]
    templates: Mapped[str]
    passages: Mapped[Json | None]


class FailedAskRow(Base):
    """One attempt to ask that brought no answer. `request` is no foreign key: an answer may never come.

    `text` is what the model said all the same, such as an answer that was cut off; its tokens were paid for.
    """

    __tablename__ = "failed_asks"
    __table_args__ = (UniqueConstraint("request", "model", "created"),)

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    request: Mapped[str]
    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), index=True)
    model: Mapped[str]
    error: Mapped[str]
    text: Mapped[str]
    input_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    cost_usd: Mapped[float | None]
    created: Mapped[str]


class TurnRow(Base):
    """What a model said in place of an answer: calls of a tool. `request` is no foreign key: an answer may never come.

    `answers` counts the tokens and the price of those turns that led to an answer of the same model once more.
    """

    __tablename__ = "turns"

    request: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), index=True)
    message: Mapped[str]
    reports: Mapped[Json]
    input_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    cost_usd: Mapped[float | None]
    seconds: Mapped[float | None]
    created: Mapped[str]


class DecisionRow(Base):
    """A person's word about an idea, which follows it; `about` is the id of a row of `ideas` or of this table."""

    __tablename__ = "decisions"

    id: Mapped[str] = mapped_column(primary_key=True)
    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), index=True)
    verb: Mapped[str]
    parent: Mapped[str]
    about: Mapped[str]
    reason: Mapped[str]
    by: Mapped[str]
    created: Mapped[str]
    title: Mapped[str]
    category: Mapped[str]
    mechanism: Mapped[str]
    expected_speedup: Mapped[float | None]
    risk: Mapped[str]
    refutation: Mapped[str]


class IdeaRow(Base):
    """A proposal. `parent` is no foreign key, or it would close a circle with `kernels.idea`; nor is `decision`, a
    column that SQLite could not have added."""

    __tablename__ = "ideas"
    __table_args__ = (UniqueConstraint("run", "round", "ordinal"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    run: Mapped[str] = mapped_column(ForeignKey("runs.id"))
    round: Mapped[int]
    ordinal: Mapped[int]
    parent: Mapped[str]
    answer: Mapped[str | None] = mapped_column(ForeignKey("answers.id"))
    title: Mapped[str]
    category: Mapped[str]
    mechanism: Mapped[str]
    expected_speedup: Mapped[float | None]
    risk: Mapped[str]
    dropped: Mapped[str]
    refutation: Mapped[str]
    decision: Mapped[str | None]


class KernelRow(Base):
    """`digest` is that of `source`, and NULL with it."""

    __tablename__ = "kernels"
    __table_args__ = (UniqueConstraint("run", "round", "ordinal"), Index(None, "run", "id"))

    id: Mapped[str] = mapped_column(primary_key=True)
    run: Mapped[str] = mapped_column(ForeignKey("runs.id"))
    round: Mapped[int]
    ordinal: Mapped[str]
    idea: Mapped[str | None] = mapped_column(ForeignKey("ideas.id"))
    answer: Mapped[str | None] = mapped_column(ForeignKey("answers.id"))
    language: Mapped[str]
    source: Mapped[str | None] = mapped_column(PackedText)
    digest: Mapped[str | None] = mapped_column(index=True)


class EdgeRow(Base):
    """`parent` is no foreign key: a kernel may be inspired by one that another archive holds."""

    __tablename__ = "edges"
    __table_args__ = (Index(None, "child"),)

    parent: Mapped[str] = mapped_column(primary_key=True)
    child: Mapped[str] = mapped_column(ForeignKey("kernels.id"), primary_key=True)
    relation: Mapped[str] = mapped_column(primary_key=True)


class EvaluationRow(Base):
    """`protocol` is the id of the protocol whose fields follow it. Times are medians; samples are in milliseconds.

    `ordinal` counts verdicts on a kernel on a device, from 1; `stored` is when an archive first took one in.
    """

    __tablename__ = "evaluations"
    __table_args__ = (
        UniqueConstraint("kernel", "device", "protocol", "ordinal"),
        Index(None, "kernel", "device", "ordinal", "status", "milliseconds"),
        Index(None, "milliseconds"),
    )

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    kernel: Mapped[str] = mapped_column(ForeignKey("kernels.id"))
    device: Mapped[str] = mapped_column(ForeignKey("devices.id"))
    protocol: Mapped[str]
    tolerance: Mapped[float]
    deadline_seconds: Mapped[float]
    threads: Mapped[int]
    nominal_calls: Mapped[int]
    repeats: Mapped[int]
    protocol_version: Mapped[int]
    status: Mapped[str]
    error: Mapped[str]
    calls: Mapped[int | None]
    worst_error: Mapped[float | None]
    eager_error: Mapped[float | None]
    oracle: Mapped[str | None]
    precision: Mapped[str | None]
    milliseconds: Mapped[float | None]
    eager_milliseconds: Mapped[float | None]
    compile_milliseconds: Mapped[float | None]
    eager_speedup: Mapped[float | None]
    eager_speedup_low: Mapped[float | None]
    eager_speedup_high: Mapped[float | None]
    compile_speedup: Mapped[float | None]
    compile_speedup_low: Mapped[float | None]
    compile_speedup_high: Mapped[float | None]
    compile_error: Mapped[str]
    samples: Mapped[Json | None]
    eager_samples: Mapped[Json | None]
    compile_samples: Mapped[Json | None]
    build_command: Mapped[str | None]
    build_seconds: Mapped[float | None]
    build_cached: Mapped[bool | None]
    build_log: Mapped[str | None]
    software: Mapped[Json]
    seed: Mapped[Long]
    seconds: Mapped[float]
    created: Mapped[str]
    labels: Mapped[Json]
    sandbox: Mapped[str]
    ordinal: Mapped[int]
    stored: Mapped[str]
    profile: Mapped[str]
    conditions: Mapped[Record | None]
    warm_milliseconds: Mapped[float | None]
    parent_speedup: Mapped[float | None]
    parent_speedup_low: Mapped[float | None]
    parent_speedup_high: Mapped[float | None]
    elementwise_error: Mapped[float | None]


class RemeasurementRow(Base):
    """A later measurement; `evaluation` is the whole record, its `milliseconds` and `device` beside it for queries."""

    __tablename__ = "remeasurements"
    __table_args__ = (UniqueConstraint("kernel", "created"),)

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    kernel: Mapped[str] = mapped_column(ForeignKey("kernels.id"))
    purpose: Mapped[str]
    device: Mapped[str] = mapped_column(ForeignKey("devices.id"))
    milliseconds: Mapped[float | None]
    evaluation: Mapped[Record]
    created: Mapped[str]


class ComparisonRow(Base):
    """Two kernels timed in turn. `ratio` is the time of the second ÷ that of the first, `outcome` what the first is.

    `second` is no foreign key: a kernel may be compared with one that another archive holds.
    """

    __tablename__ = "comparisons"
    __table_args__ = (UniqueConstraint("first", "second", "created"),)

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    first: Mapped[str] = mapped_column(ForeignKey("kernels.id"))
    second: Mapped[str]
    device: Mapped[str] = mapped_column(ForeignKey("devices.id"))
    ratio: Mapped[float]
    low: Mapped[float]
    high: Mapped[float]
    pairs: Mapped[int]
    outcome: Mapped[str]
    created: Mapped[str]


class FindingRow(Base):
    """What was found out about a kernel after its first verdict: `suspect` or `cleared`, why, and by whom."""

    __tablename__ = "findings"
    __table_args__ = (UniqueConstraint("kernel", "created"),)

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    kernel: Mapped[str] = mapped_column(ForeignKey("kernels.id"))
    kind: Mapped[str]
    reason: Mapped[str]
    by: Mapped[str]
    created: Mapped[str]
