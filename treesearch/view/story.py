"""How a kernel came about, as Markdown to be read from top to bottom: each step with its idea, what was expected of it
and what it brought, what else was tried there, and the difference that it made to the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from treesearch import answers
from treesearch.archive import Archive
from treesearch.feedback.figures import excerpt
from treesearch.lineage import Lineage, Outcome
from treesearch.prompts import fenced
from treesearch.records import Device, Entry, Evaluation, Relation, Run
from treesearch.roofline import floor
from treesearch.view import data, diff, hardware, markdown, text
from treesearch.view.diff import Side

OWN_WORDS = 1500
"""Characters of what an author said about a first kernel or a repair."""
LONGEST_DIFF = 120
"""Lines of a difference that are shown."""
MOST_OTHERS = 12
"""Ideas of a round that are listed beside the one that was followed."""


@dataclass(frozen=True)
class Story:
    """A kernel and all that led to it."""

    run: Run
    device: Device
    lineage: Lineage
    path: tuple[Entry, ...]
    said: Mapping[str, str]
    """What the authors of the first kernel and of repairs said about them, by the kernels' ids."""
    table: str
    """The trajectory as a table, with the figures to publish."""


def read(store: Archive, run: Run, lineage: Lineage, path: Sequence[Entry]) -> Story:
    """`path` leads from a first kernel to the one that the story is about."""
    device, last = store.device(run.device), path[-1].kernel.id
    final = data.final_of(store.remeasurements([last]), last, device.id)
    bound = floor(store.problem(run.problem), device)
    own = [entry for entry in path if lineage.relation(entry.kernel.id) is not Relation.REFINES]
    said = {entry.kernel.id: _prose(store, entry) for entry in own}
    return Story(run, device, lineage, tuple(path), said, markdown.trajectory(run, device, path, bound, final))


def _prose(store: Archive, entry: Entry) -> str:
    found = store.exchange(entry.kernel.answer) if entry.kernel.answer else None
    return answers.prose(found[1].text) if found else ""


def told(story: Story) -> str:
    """The story. It begins with the table, and has a chapter for each step."""
    chapters = [_first(story), *(_step(story, entry) for entry in story.path[1:])]
    return "\n\n".join([_opening(story), story.table.strip(), *chapters]) + "\n"


def _opening(story: Story) -> str:
    judged = [entry for entry in story.lineage.entries if entry.evaluation]
    verified = sum(entry.verified for entry in judged)
    name, device = text.escaped(story.run.problem_name), text.escaped(hardware.device(story.device))
    last = max((entry.kernel.round for entry in judged), default=0)
    rounds = f"{text.count(last, 'round')} after the first kernels" if last else "the round of first kernels"
    return (
        f"# {name}: {_title(story)}\n\nA search on {device}: {text.count(len(judged), 'kernel')} judged, {verified} of "
        f"them verified, in {rounds}. This is the line that leads to {_code(story.path[-1])}; "
        "`treesearch log KERNEL` and `treesearch diff KERNEL` tell of any other."
    )


def _title(story: Story) -> str:
    """From the first time on the way to the last; one that failed has none."""
    times = [text.milliseconds(entry.milliseconds) for entry in story.path if entry.verified]
    return f"from {times[0]} to {times[-1]}" if len(times) > 1 else "".join(times) or "no kernel that works yet"


def _first(story: Story) -> str:
    entry = story.path[0]
    others = [other for other in story.lineage.roots() if other is not entry and other.evaluation]
    parts = [f"## The first kernel: {_became(entry)}", _failure(entry), _own(story, entry)]
    if others:
        parts.append(f"Written beside it: {'; '.join(_short(other) for other in others)}.")
    return "\n\n".join(part for part in parts if part)


def _step(story: Story, entry: Entry) -> str:
    relation = story.lineage.relation(entry.kernel.id)
    if relation is Relation.REPAIRS:
        heading = f"## Round {entry.kernel.round}, repaired: {_became(entry)}"
        return "\n\n".join(part for part in [heading, _own(story, entry), *_changes(story, entry)] if part)
    parts = [f"## Round {entry.kernel.round}: {text.escaped(text.idea_title(entry, 120))}"]
    if idea := entry.kernel.idea:
        parts += [_expected(entry), _quoted(idea.mechanism)]
    return "\n\n".join(part for part in [*parts, *_changes(story, entry), _others(story, entry)] if part)


def _own(story: Story, entry: Entry) -> str:
    """What its author said about it."""
    return _quoted(excerpt(story.said[entry.kernel.id], OWN_WORDS))


def _expected(entry: Entry) -> str:
    """What was expected, and what came."""
    assert entry.kernel.idea is not None
    idea = entry.kernel.idea
    measured = entry.evaluation.measurement if entry.evaluation else None
    came = f"{_became(entry)}, {_code(entry)}"
    if measured and measured.parent_speedup:
        came += f", launched in turn {text.ratio(measured.parent_speedup)} as fast as the kernel before"
    elif failure := _failure(entry):
        came += f": {failure}"
    return f"*{idea.category}; expected {idea.expected_speedup:g}×.* **{came}.**"


def _failure(entry: Entry) -> str:
    """Why it does not count; empty where it does, or waits."""
    judged = entry.evaluation
    return text.escaped(text.reason(judged, 160)) if judged and not entry.verified else ""


def _others(story: Story, entry: Entry) -> str:
    """What else was tried in that round, the best first."""
    found = [one for one in _outcomes(story.lineage, entry.kernel.round) if not _about(one, entry)]
    if not found:
        return ""
    best = sorted(found, key=lambda one: -(one.ratio or 0.0))[:MOST_OTHERS]
    rows = [
        f"| {text.escaped(text.one_line(one.idea.title, 90))} | {one.idea.expected_speedup:g}× "
        f"| {f'{one.ratio:.2f}×' if one.ratio else '–'} | {one.conclusion} |"
        for one in best
    ]
    return "\n".join(["| also tried in that round | expected | best | |", "|---|---:|---:|---|", *rows])


def _outcomes(lineage: Lineage, round: int) -> Iterator[Outcome]:
    for base in lineage.bases():
        yield from (one for one in lineage.outcomes(base.kernel.id) if one.best.kernel.round == round)


def _about(outcome: Outcome, entry: Entry) -> bool:
    mine, theirs = entry.kernel.proposal, outcome.best.kernel.proposal
    return mine is not None and theirs is not None and mine.id == theirs.id


def _changes(story: Story, entry: Entry) -> Iterator[str]:
    """The difference from the kernel before, cut where it is long."""
    parent = story.lineage.parent(entry.kernel.id)
    if parent is None or not entry.kernel.source or not parent.kernel.source:
        return
    old, new = (Side(one, story.lineage, story.run, story.device) for one in (parent, entry))
    lines = [text.visible(line) for line in diff.changes(old, new)][2:]  # without the names of the files
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    rest = len(lines) - LONGEST_DIFF
    more = f"; `treesearch diff {entry.kernel.id}` prints {rest} lines more than these" if rest > 0 else ""
    yield f"{added} lines added, {removed} removed{more}:"
    yield fenced("\n".join(lines[:LONGEST_DIFF]), "diff")


def _became(entry: Entry) -> str:
    judged: Evaluation | None = entry.evaluation
    if judged and judged.measurement and entry.verified:
        speedup = judged.measurement.speedup.value
        return f"{text.milliseconds(entry.milliseconds)}, {speedup:.2f}× the better of eager and torch.compile"
    return text.status(judged.status) if judged else "no verdict yet"


def _short(entry: Entry) -> str:
    judged = entry.evaluation
    time = text.milliseconds(entry.milliseconds) if entry.verified else text.status(judged.status) if judged else "due"
    return f"{time} ({_code(entry)})"


def _code(entry: Entry) -> str:
    return f"`{entry.kernel.id}`"


def _quoted(said: str) -> str:
    """Foreign text as a quotation, paragraph by paragraph."""
    paragraphs = [text.escaped(part, len(part)) for part in said.split("\n\n") if part.strip()]
    return "\n>\n".join(f"> {part}" for part in paragraphs)
