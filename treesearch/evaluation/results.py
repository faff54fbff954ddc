"""What became of a bundle: a header, then one line for each verdict, each with a digest of its own.

Lines are added one by one, so a worker that is killed leaves a file that is good up to its last complete line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from treesearch.errors import UsageError
from treesearch.evaluation import bundle as bundles
from treesearch.evaluation.bundle import Bundle
from treesearch.records import Device, Evaluation, Protocol, Purpose, codec

FORMAT = "treesearch results"
VERSION = 2


@dataclass(frozen=True)
class Header:
    """What all verdicts of a file have in common."""

    bundle: str
    """Digest of the bundle."""
    run: str
    problem: str
    """Digest of the problem's source."""
    problem_name: str
    language: str
    protocol: Protocol
    device: Device
    """Where the kernels were judged, as measured there."""
    purpose: Purpose | None = None
    """The bundle's."""

    @property
    def text(self) -> str:
        encoded = codec.encode(self)
        assert isinstance(encoded, dict)
        return codec.canonical(codec.seal({"format": FORMAT, "version": VERSION, **encoded})) + "\n"


@dataclass(frozen=True)
class Verdict:
    """One kernel's evaluation."""

    bundle: str
    """Digest of the bundle, so that a line is at home in one file only."""
    kernel: str
    source: str
    """Digest of the kernel's source."""
    evaluation: Evaluation

    @property
    def text(self) -> str:
        encoded = codec.encode(self)
        assert isinstance(encoded, dict)
        return codec.canonical(codec.seal(encoded)) + "\n"


@dataclass(frozen=True)
class Results:
    header: Header
    verdicts: tuple[Verdict, ...]

    @property
    def text(self) -> str:
        return self.header.text + "".join(verdict.text for verdict in self.verdicts)


def header(bundle: Bundle, hardware: Device) -> Header:
    """The header of a bundle's results on this device."""
    return Header(
        bundle.digest,
        bundle.run,
        bundle.problem.digest,
        bundle.problem.name,
        bundle.language,
        bundle.protocol,
        hardware,
        bundle.purpose,
    )


def read(path: Path) -> Results:
    """The results in a file; a last line that was cut off is left out.

    Raises UsageError, with the reason, where any other line is not what was written.
    """
    try:
        text = bundles.load(path)
        if not text.strip():
            raise ValueError("it is empty")
        first, *lines = _lines(text)
        found = Results(_header(first), ())
        verdicts = tuple(_verdicts(found.header, lines))
        if len({verdict.kernel for verdict in verdicts}) < len(verdicts):
            raise ValueError("it holds two verdicts on one kernel")
    except ValueError as reason:
        raise UsageError(f"Cannot take {path} as results: {reason}.") from reason
    return Results(found.header, verdicts)


def resumed(path: Path, bundle: Bundle, expected: Header) -> Results:
    """What an earlier go at the same bundle left in a file, without lines that are damaged or of something else.

    Raises UsageError for a file that holds anything but results of this bundle on this device.
    """
    try:
        text = bundles.load(path) if path.exists() else ""
        if expected.text.startswith(text):  # absent, or killed while it wrote the header
            return Results(expected, ())
        first, *lines = _lines(text)
        found = _header(first)
    except ValueError as reason:
        raise UsageError(f"{path} is there and will not be overwritten: {reason}; name another with -o.") from reason
    if (found.bundle, found.device.id) != (expected.bundle, expected.device.id):
        raise UsageError(f"{path} holds results of another bundle or device; name another file with -o.")
    return Results(found, tuple(_kept(found, bundle, lines)))


def _kept(found: Header, bundle: Bundle, lines: list[str]) -> Iterator[Verdict]:
    wanted = {kernel.id: kernel.digest for kernel in bundle.kernels}
    for line in lines:
        try:
            verdict = _verdict(found, line)
        except ValueError:  # it is judged once more
            continue
        if wanted.get(verdict.kernel) == verdict.source:
            del wanted[verdict.kernel]
            yield verdict


def _lines(text: str) -> list[str]:
    """The header and all further lines; a last one without its line break only if it is complete all the same."""
    *lines, last = text.split("\n")
    if not lines:
        lines, last = [last], ""
    try:
        return [*lines, *([last] if last and codec.unseal(codec.parse(last)) else [])]
    except ValueError:
        return lines


def _header(line: str) -> Header:
    return codec.decode(Header, bundles.unsealed(line, FORMAT, VERSION))


def _verdicts(found: Header, lines: list[str]) -> Iterator[Verdict]:
    for number, line in enumerate(lines, start=2):
        try:
            yield _verdict(found, line)
        except ValueError as reason:
            raise ValueError(f"line {number}: {reason}") from reason


def _verdict(found: Header, line: str) -> Verdict:
    verdict = codec.decode(Verdict, codec.unseal(codec.parse(line)))
    if verdict.bundle != found.bundle:
        raise ValueError("it is of another bundle")
    if verdict.evaluation.device != found.device.id:
        raise ValueError("it was judged on another device than the first line says")
    if verdict.evaluation.protocol != found.protocol:
        raise ValueError("it was judged by another protocol than the first line says")
    return verdict
