"""The whole text, part by part. Each part is bounded, so that none crowds out another."""

from __future__ import annotations

from collections.abc import Sequence

from treesearch.feedback import functions, speed
from treesearch.feedback.figures import ESCAPES, excerpt
from treesearch.feedback.seen import Seen
from treesearch.languages import LANGUAGES, Language
from treesearch.languages.mix import Mix
from treesearch.records import Device, Evaluation, Kernel, Problem, Resources, Status

LIMIT = 6000
"""Characters of the whole."""
ERROR_LIMIT = 1800
FUNCTIONS_LIMIT = 2200
LOG_LIMIT = 1200
"""Of what the compiler said, where it did not fail."""
GAP = "\n\n"


def text(problem: Problem, language: Language, device: Device, evaluation: Evaluation, seen: Seen | None = None) -> str:
    """What is known of a kernel on a device, in at most LIMIT characters; what is not known is left out.

    `seen` is what was found out beside the evaluation. Names of functions are as in their source, and never shortened.
    """
    if evaluation.status is Status.BUILD_FAILED:
        return _joined([_status(evaluation), excerpt(_clean(evaluation.error), LIMIT - 200)])
    log = evaluation.build.log if evaluation.build else ""
    architecture = device.architecture or language.architecture
    parts = [
        _status(evaluation),
        excerpt(_clean(evaluation.error), ERROR_LIMIT),
        _measured(problem, device, evaluation),
        functions.described(language.resources(log), architecture, device, seen or Seen(), FUNCTIONS_LIMIT),
    ]
    left = LIMIT - len(_joined(parts)) - 100
    return _joined([*parts, _said(language.readable(log), min(left, LOG_LIMIT))])


def known(problem: Problem, language: Language, device: Device, evaluation: Evaluation) -> str:
    """The text that was stored with a verdict; made of the verdict's fields where that is older than such texts."""
    return evaluation.profile or text(problem, language, device, evaluation)


def resources(kernel: Kernel, evaluation: Evaluation | None) -> tuple[Resources, ...]:
    """What the compiler said that the kernel's device functions take; nothing for a language that says nothing."""
    language = LANGUAGES.get(kernel.language)
    build = evaluation.build if evaluation else None
    return language.resources(build.log) if language and build else ()


def of_build(language: Language, log: str, error: str, mixes: Sequence[Mix]) -> str:
    """What a compiler and a disassembler say of a source that has no verdict, in at most LIMIT characters.

    `error` is why it does not build, or nothing.
    """
    if error:
        return excerpt(_clean(error), LIMIT)
    made = functions.described(language.resources(log), "", None, Seen(mixes=tuple(mixes)), FUNCTIONS_LIMIT)
    return _joined([made, _said(language.readable(log), LIMIT - FUNCTIONS_LIMIT - len(GAP) - 100)])


def _status(evaluation: Evaluation) -> str:
    labels = f" ({', '.join(map(str, evaluation.labels))})" if evaluation.labels else ""
    return f"Status: {str(evaluation.status).replace('_', ' ')}{labels}"


def _measured(problem: Problem, device: Device, evaluation: Evaluation) -> str:
    found = list(speed.lines(problem, device, evaluation.measurement)) if evaluation.measurement else []
    if evaluation.accuracy:
        found.append(speed.accuracy(problem, evaluation.accuracy))
    return "\n".join(found)


def _said(log: str, limit: int) -> str:
    cleaned = _clean(log)
    return f"The compiler said:\n{excerpt(cleaned, limit)}" if cleaned else ""


def _clean(foreign: str) -> str:
    return ESCAPES.sub("", foreign.replace("\r\n", "\n")).strip()


def _joined(parts: Sequence[str]) -> str:
    return GAP.join(part for part in parts if part)
