"""What a dataset's tables hold. A field is a column, and what is said beside its type is its documentation.

A row consists of parts, which tables show flat; a part that is None is a null in each of its columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Place:
    """Where a kernel stands in its run."""

    kernel: Annotated[str, "id of the kernel: a slot of a round, filled or not"]
    run: Annotated[str, "id of its run, a row of `runs`"]
    problem: Annotated[str, "name of the problem"]
    problem_digest: Annotated[str, "SHA-256 of the reference's source"]
    language: Annotated[str, "`cuda`, `cpp` or `module`"]
    round: Annotated[int, "from 0, which implements the problem itself"]
    ordinal: Annotated[str, "place in the round: `3.0r1` is the first repair of variant 0 of idea 3"]
    parent: Annotated[str | None, "id of the kernel that it came from; null for a root"]
    relation: Annotated[str | None, "`refines` or `repairs`: how it came from that one"]
    inspired_by: Annotated[tuple[str, ...], "ids of other kernels that a person had the prompt quote"]
    winner: Annotated[bool, "whether it is the fastest verified kernel of its run"]


@dataclass(frozen=True)
class Proposed:
    """The idea that a kernel implements; null in round 0."""

    idea_id: Annotated[str, "id of the proposal; kernels of one idea share it"]
    idea_title: Annotated[str, "the idea in a few words"]
    idea_category: Annotated[str, "one of the six categories"]
    idea_mechanism: Annotated[str, "what changes, and why that is faster"]
    idea_expected_speedup: Annotated[float | None, "over the parent, as proposed"]
    idea_risk: Annotated[str, "what could make it slower or wrong, as proposed"]
    idea_refutation: Annotated[str, "what would show that it is wrong, as proposed"]
    idea_decisions: Annotated[tuple[str, ...], "what a person did with it: `add`, `pin`, `ban`"]
    idea_outcome: Annotated[str | None, "`confirmed`, `refuted` or `inconclusive`, over all of its kernels"]
    idea_best_speedup: Annotated[float | None, "the parent's time ÷ that of the idea's best kernel"]


@dataclass(frozen=True)
class Asked:
    """The question that a kernel came of, and its answer."""

    stage: Annotated[str, "`kernel` or `repair`"]
    prompt: Annotated[str, "the question, whole"]
    answer: Annotated[str, "what the model said, exactly"]
    failure: Annotated[str | None, "why there is no answer and never will be, such as a content filter"]
    model: Annotated[str, "the model string that was asked"]
    answered_by: Annotated[str | None, "who really answered, where that is another name"]
    help: Annotated[str | None, "what the answerer had at hand; null where it answered from the prompt alone"]
    temperature: Annotated[float | None, "as sent; null for the provider's default, as are the next two"]
    max_tokens: Annotated[int | None, "longest answer allowed"]
    reasoning_effort: Annotated[str | None, "as sent"]
    input_tokens: Annotated[int | None, "read by the model; null where nobody says, as are the next three"]
    output_tokens: Annotated[int | None, "written by the model"]
    cost_usd: Annotated[float | None, "US dollars"]
    answer_seconds: Annotated[float | None, "until the answer was there"]
    templates: Annotated[str | None, "digest of the templates that the prompt was made from"]
    asked: Annotated[str, "when the answer was stored, ISO 8601 in UTC"]


@dataclass(frozen=True)
class Judged:
    """The verdict that counts; null while it is due."""

    status: Annotated[str, "`verified`, or why it is not: `no_code`, `build_failed`, `crashed`, `wrong`, `suspect`, …"]
    error: Annotated[str | None, "why it is not verified"]
    labels: Annotated[tuple[str, ...], "what a reader should know beside the status: `open`, `algorithmic`, …"]
    feedback: Annotated[str, "what the compiler, the disassembler and the clocks say, as models get to read it"]
    milliseconds: Annotated[float | None, "median time of a launch; null where it was not timed, as all times are"]
    quartiles: Annotated[tuple[float, ...] | None, "first and third quartile of that time"]
    eager_milliseconds: Annotated[float | None, "median time of the eager reference beside it"]
    compile_milliseconds: Annotated[float | None, "median time of torch.compile beside it"]
    speedup: Annotated[float | None, "over the better of these two"]
    speedup_interval: Annotated[tuple[float, ...] | None, "its 95 % bootstrap interval: lower and upper end, as below"]
    eager_speedup: Annotated[float | None, "over eager"]
    eager_speedup_interval: Annotated[tuple[float, ...] | None, "its interval"]
    compile_speedup: Annotated[float | None, "over torch.compile"]
    compile_speedup_interval: Annotated[tuple[float, ...] | None, "its interval"]
    parent_speedup: Annotated[float | None, "over the parent, launched in turn with it, where both were compared"]
    parent_speedup_interval: Annotated[tuple[float, ...] | None, "its interval"]
    worst_error: Annotated[float | None, "largest ‖error‖ ÷ ‖reference‖ of a row over all checked calls"]
    eager_error: Annotated[float | None, "the eager reference's own"]
    precision: Annotated[str | None, "what errors on nominal inputs amount to: `float32-like`, `float16-like`, `lower`"]
    checked_calls: Annotated[int | None, "calls whose answers were compared"]
    oracle: Annotated[str | None, "what it was compared with: `float64` or `native`"]
    device: Annotated[str, "id of the device it was judged on"]
    protocol: Annotated[str, "id of the protocol; only verdicts under the same one compare"]
    protocol_version: Annotated[int, "version of the evaluator's rules"]
    tolerance: Annotated[float, "largest ‖error‖ ÷ ‖reference‖ allowed"]
    deadline_seconds: Annotated[float, "how long it might run"]
    threads: Annotated[int, "CPU threads it had"]
    nominal_calls: Annotated[int, "calls on nominal inputs"]
    repeats: Annotated[int, "how often each was timed"]
    software: Annotated[tuple[str, ...], "versions that matter: torch, compiler, driver"]
    judged: Annotated[str, "when, ISO 8601 in UTC"]


@dataclass(frozen=True)
class Final:
    """What a kernel took when it was measured after the selection; null where it was not, or failed then."""

    final_milliseconds: Annotated[float, "median time in a later, fresh process: the figure to publish of a winner"]
    final_speedup: Annotated[float, "over the better of eager and torch.compile then"]
    final_speedup_interval: Annotated[tuple[float, ...], "its 95 % bootstrap interval"]


@dataclass(frozen=True)
class Node:
    """A row of `nodes`: a kernel with where it came from and what became of it."""

    place: Place
    idea: Proposed | None
    asked: Asked | None
    source: Annotated[str | None, "the kernel's source; null where the answer held no code"]
    source_digest: Annotated[str | None, "SHA-256 of the source: equal for kernels that are the same"]
    judged: Judged | None
    standing: Annotated[str | None, "`suspect`, `re-opened` or `cleared`: what was found out after the verdict"]
    standing_reason: Annotated[str | None, "why"]
    final: Final | None
    reward: Annotated[float | None, "ln(1 + `speedup`) if it is verified, else 0; null while no verdict counts"]
    licence: Annotated[str | None, "SPDX identifier that the source states, else that of the record it ships in"]


@dataclass(frozen=True)
class Function:
    """What was called; `arguments` are as the model wrote them."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Call:
    """A call of a tool, in the form that providers' APIs have."""

    id: str
    function: Function
    type: str = "function"


@dataclass(frozen=True)
class Message:
    """One message of a conversation; what is None is left out."""

    role: str
    """`user`, `assistant` or `tool`."""
    content: str
    tool_calls: tuple[Call, ...] | None = None
    tool_call_id: str | None = None


@dataclass(frozen=True)
class Conversation:
    """A row of `conversations`: from the idea to the last repair of one attempt at it."""

    conversation: Annotated[str, "id of the last kernel in it, a row of `nodes`"]
    run: Annotated[str, "id of its run"]
    problem: Annotated[str, "name of the problem"]
    language: Annotated[str, "`cuda`, `cpp` or `module`"]
    kernels: Annotated[tuple[str, ...], "ids of its kernels: the first attempt, then each repair"]
    statuses: Annotated[tuple[str | None, ...], "what became of each; null while no verdict counts"]
    rewards: Annotated[tuple[float | None, ...], "the reward of each, as in `nodes`"]
    reward: Annotated[float | None, "that of the last"]
    models: Annotated[tuple[str, ...], "who gave each answer, in order"]
    uses_tools: Annotated[bool, "whether messages hold calls of tools, and what these reported"]
    licence: Annotated[str | None, "that of the last kernel, as in `nodes`"]
    messages: Annotated[tuple[Message, ...], "`role`, `content`, and of tools `tool_calls` or `tool_call_id`"]


@dataclass(frozen=True)
class Searched:
    """A row of `runs`: what was searched, where, and how."""

    run: Annotated[str, "id of the run"]
    problem: Annotated[str, "name of the problem"]
    problem_digest: Annotated[str, "SHA-256 of the reference's source"]
    reference: Annotated[str, "the problem: a PyTorch module and its inputs in KernelBench's format"]
    tolerance: Annotated[float, "largest ‖error‖ ÷ ‖reference‖ that the problem allows"]
    precision: Annotated[str, "that of the problem, such as `float32`"]
    flops: Annotated[int | None, "operations of one call, a multiply-add counted as two; null where not countable"]
    bytes_moved: Annotated[int, "bytes that one call must at least read or write: inputs, parameters, buffers, outputs"]
    language: Annotated[str, "`cuda`, `cpp` or `module`"]
    models: Annotated[tuple[str, ...], "model strings that were asked; those of one role alone say which"]
    policy: Annotated[str, "what picked the parents"]
    rounds: Annotated[int, "after round 0"]
    state: Annotated[str, "`done`, `stopped` at a limit, or `running`"]
    created: Annotated[str, "ISO 8601 in UTC"]
    kernels: Annotated[int, "rows of `nodes` that are its"]
    verified: Annotated[int, "how many of them are verified"]
    winner: Annotated[str | None, "id of the fastest verified kernel"]
    device: Annotated[str, "id of the target device"]
    device_kind: Annotated[str, "`cpu` or `cuda`"]
    device_name: Annotated[str, "as its driver or the kernel names it"]
    device_architecture: Annotated[str | None, "what kernels are compiled for, such as `sm_90a`"]
    device_cores: Annotated[int, "of a GPU, its streaming multiprocessors"]
    device_memory_bytes: Annotated[int, "its memory"]
    device_bandwidth: Annotated[float | None, "measured bytes a second of a large copy, both directions counted"]
    device_software: Annotated[tuple[str, ...], "driver, CUDA and torch when it was measured"]
    problem_licence: Annotated[str | None, "SPDX identifier that the reference states, else the record's"]
