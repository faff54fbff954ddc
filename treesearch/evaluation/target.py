"""Which device kernels are to run on, and in which language: here, or on a machine that is somewhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from treesearch import languages
from treesearch.errors import MachineError, UsageError
from treesearch.evaluation import bundle, device
from treesearch.languages import CPP, CUDA, Language
from treesearch.records import Device, Problem, Protocol, codec

AUTO = "auto"
NEED_NOT_BE_HERE = (
    "It need not be here: name it with --device, by its id, a part of its name, or a file that `treesearch device -o "
    "FILE.json` wrote there."
)


@dataclass(frozen=True)
class Here:
    """This machine's devices: those given, or else those that are found when they are asked for."""

    given: tuple[Device, ...] | None = None

    def has_gpu(self) -> bool:
        return device.has_gpu() if self.given is None else any(one.kind == "cuda" for one in self.given)

    def of_kind(self, kind: str) -> Device:
        """Raises MachineError where there is none."""
        if self.given is None:
            return device.local(kind)
        for one in self.given:
            if one.kind == kind:
                return one
        raise MachineError(f"There is no device of kind {kind!r} on this machine.")

    def all(self) -> list[Device]:
        found = []
        for kind in ("cpu", "cuda") if self.has_gpu() else ("cpu",):
            with suppress(MachineError):  # a GPU, for instance, that torch cannot use
                found.append(self.of_kind(kind))
        return found


HERE = Here()


@dataclass(frozen=True)
class Target:
    """A device, and the language that it is searched in."""

    language: Language
    device: Device
    here: bool
    """Whether it is this machine's."""

    def protocol(self, problem: Problem, deadline_seconds: float) -> Protocol:
        return protocol(problem, deadline_seconds, self.device)


def protocol(problem: Problem, deadline_seconds: float, hardware: Device) -> Protocol:
    """How a problem's kernels are judged on a device: on a CPU with all of its cores."""
    return Protocol(problem.tolerance, float(deadline_seconds), hardware.cores if hardware.kind == "cpu" else 1)


def spoken(language: str, here: Here = HERE) -> tuple[Language, ...]:
    """The languages that a name may mean on this machine, the preferred one first.

    `auto` prefers the GPU's, where there is a GPU and a compiler for it.
    """
    if language != AUTO:
        return (languages.named(language),)
    return (CUDA, CPP) if here.has_gpu() and CUDA.compiler() else (CPP,)


def at_hand(language: Language, here: Here = HERE) -> Target:
    """This machine's device for a language, of the kind that it prefers among those that are here.

    Raises MachineError where there is none.
    """
    kinds = [kind for kind in language.device_kinds if kind != "cuda" or here.has_gpu()] or language.device_kinds
    try:
        return Target(language, here.of_kind(kinds[0]), True)
    except MachineError as error:
        raise MachineError(f"{error} {NEED_NOT_BE_HERE}") from error


def named(name: str, language: str, known: Iterable[Device], here: Here = HERE) -> Target:
    """The device behind an id, a part of a name, or the path of a description.

    Looked for among this machine's devices and those `known`. `language` is a language's name, or `auto` for the
    device's own. Raises UsageError unless there is exactly one, and where its kind does not run the language.
    """
    ours = here.all()
    found = _described(Path(name)) if name.endswith(".json") else _matching(name, [*ours, *known])
    chosen = languages.for_device(found.kind) if language == AUTO else languages.named(language)
    if not chosen.runs_on(found.kind):
        fitting = ", ".join(one.name for one in languages.LANGUAGES.values() if one.runs_on(found.kind))
        raise UsageError(f"Kernels in {chosen.name} do not run on {found.name}; what runs there is {fitting}.")
    mine = next((one for one in ours if one.id == found.id), None)
    return Target(chosen, mine or found, mine is not None)


def _described(path: Path) -> Device:
    try:
        return codec.decode(Device, codec.parse(bundle.load(path)))
    except ValueError as reason:
        raise UsageError(
            f"Cannot take {path} as the description of a device: {reason}; `treesearch device -o FILE.json` writes one."
        ) from reason


def _matching(name: str, known: Sequence[Device]) -> Device:
    wanted = name.strip().lower()
    found = [one for one in known if one.id.startswith(wanted) or wanted in one.name.lower()]
    by_id: dict[str, Device] = {}
    for one in found if wanted else ():
        held = by_id.get(one.id)
        by_id[one.id] = one if held is None or (held.bandwidth is None and one.bandwidth) else held
    if len(by_id) == 1:
        return next(iter(by_id.values()))
    if by_id:
        raise UsageError(f"{name!r} names more than one device: {_listed(by_id.values())}; write an id.")
    raise UsageError(
        f"No device is known by {name!r}; known are {_listed(known)}. To search for another, run `treesearch device -o "
        "FILE.json` there and name that file."
    )


def _listed(known: Iterable[Device]) -> str:
    return ", ".join(dict.fromkeys(f"{one.name} ({one.id})" for one in known))
