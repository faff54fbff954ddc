"""What of the corpus this machine can run."""

from __future__ import annotations

from functools import cache

from treesearch import languages
from treesearch.audit.corpus import CUDA, Case
from treesearch.evaluation import device, walls
from treesearch.evaluation.checks import Check
from treesearch.evaluation.cuda import sanitizer
from treesearch.records import Device


def absence(case: Case) -> str:
    """What this machine lacks to judge a kernel, in a few words; empty where it lacks nothing."""
    if case.device == CUDA and not _has_gpu():
        return "a CUDA device"
    if language := _language(case.language):
        return language
    return next((lack for check in sorted(case.checks) if (lack := missing(check))), "")


def missing(check: Check) -> str:
    """What this machine lacks for a check, in a few words; empty where it can make it."""
    if check is Check.SANITIZER:
        return _sanitizer()
    if check is Check.GRAPH_NODES and not _has_gpu():
        return "a CUDA device"
    wall = Check.FILES if check is Check.COMPILER else check  # the compiler's walls are those around files
    return "" if walls.available().offers(wall) else f"a sandbox that holds {wall}"


@cache
def hardware(kind: str) -> Device:
    """This machine's device of a kind, `cpu` or `cuda`."""
    return device.local(kind)


def sandbox() -> str:
    """What this machine puts around kernels, on one line."""
    return walls.available().description


@cache
def _has_gpu() -> bool:
    return device.has_gpu()


def _language(name: str) -> str:
    if name not in languages.LANGUAGES:
        return f"a language {name!r}"
    language = languages.LANGUAGES[name]
    return "" if language.compiler() else f"a compiler for {language.title}"


def _sanitizer() -> str:
    if not _has_gpu():
        return "a CUDA device"
    return "" if sanitizer.tool() else sanitizer.NAME
