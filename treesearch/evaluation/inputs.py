"""The deck: the calls that every candidate of a batch is judged on, and what each should answer."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from treesearch.errors import ProblemError
from treesearch.evaluation import checks, floor
from treesearch.evaluation.calls import NOMINAL, Call, Drawer, Made
from treesearch.evaluation.checks import Check, Checks
from treesearch.evaluation.open.manners import IN_EVAL
from treesearch.evaluation.stress import AMBIGUOUS, OF_PARAMETERS, STRESS
from treesearch.problem import memory
from treesearch.problem.reference import Reference
from treesearch.records import Problem, Protocol, Role

FLOATING = ("float", "bfloat")
"""How the dtypes begin that stress changes."""
LARGEST = 3e4
"""Stress outputs stay below this, within float16's range, unless nominal outputs already exceed it."""
FEWEST_CALLS = 10
"""Calls of a deck at the least; nominal ones make up for kinds of stress that are skipped."""
SPARES = 1 << 30
"""Bytes of spares on a CPU, where drawing takes long. Large contents have fewer, since none is seen twice."""
FLOAT64_COPIES = 3
"""Copies of the inputs in float64 that a reference holds at once while it answers."""
BURSTS = 3
BURST_SECONDS = 2.0
"""Of computing, after which no more calls of bursts are drawn and answered."""
FEWEST_HELD = 3
"""Calls, with their answers, that must fit into memory at once."""


@dataclass(frozen=True)
class Deck:
    """Distinct calls: several nominal draws, and one of each kind of stress that the reference survives."""

    calls: tuple[Call, ...]
    spares: tuple[Call, ...]
    """Further nominal draws, which a kernel cannot tell from those that are checked."""
    oracle: str
    seed: int
    skipped: tuple[str, ...]
    """Kinds of stress left out: the answer was not finite, did not exist, or rounding operands would change it much."""
    moved_bytes: int
    """What every correct kernel reads and writes in each nominal call, at least."""
    fixed: tuple[str, ...]
    """Arguments whose contents are the same in all calls, so that a kernel could have them built in."""
    changing: tuple[str, ...] = ()
    """Manners of calling a module in which the reference itself answers otherwise."""
    bursts: tuple[tuple[Call, ...], ...] = ()
    """More nominal calls, for launches in a row: nothing else is made of them, so that no kernel has met one before."""


def draw(
    problem: Problem,
    reference: Reference,
    protocol: Protocol,
    seed: int,
    without: Checks = checks.NONE,
    *,
    launches: int = 0,
    one_model: bool = False,
) -> Deck:
    """The deck of a seed, on the reference's device. Weights are redrawn in every call, and perturbed in stressed
    ones.

    Bursts are of up to `launches` calls, with parameters and buffers in common where they are for `one_model`.
    `without` leaves out what its name says: without FRESH_CONTENTS all nominal calls are the first over again, without
    WEIGHTS every call has the first one's, without STRESS all calls are nominal, and without FLOOR only the outputs'
    bytes are known to matter.
    """
    _check_memory(problem, reference.device)
    with memory.reused():
        return _draw(problem, reference, protocol, seed, without, launches, one_model=one_model)


def _draw(
    problem: Problem,
    reference: Reference,
    protocol: Protocol,
    seed: int,
    without: Checks,
    launches: int,
    *,
    one_model: bool,
) -> Deck:
    seeds = _Seeds(seed, fresh=Check.FRESH_CONTENTS not in without)
    moved = problem.bytes_written if Check.FLOOR in without else floor.moved_bytes(problem, reference, seeds.first)
    _give_back(reference.device)
    drawer = Drawer(problem, reference, weights_seed=seeds.first if Check.WEIGHTS in without else None)
    calls = [drawer.call(NOMINAL, seeds.nominal()) for _ in range(protocol.nominal_calls)]
    if any(call is None for call in calls):
        raise ProblemError(f"The reference of {problem.name} gives outputs that are not finite on its own inputs.")
    drawer.limit = max(LARGEST, 2 * drawer.largest)
    kinds = [] if Check.STRESS in without else _kinds(problem, reference)
    stressed = {name: drawer.stressed(name, seeds.stressed()) for name in kinds}
    survivors = [call for call in (*calls, *stressed.values()) if call]
    skipped = tuple(name for name, call in stressed.items() if call is None)
    while len(survivors) < FEWEST_CALLS:
        survivors += [call for call in [drawer.call(NOMINAL, seeds.nominal())] if call]
    wanted = _spares(problem, protocol, reference.device)
    spares = tuple(drawer.spare(seeds.nominal()) for _ in range(wanted))
    bursts = _bursts(drawer, seeds, launches, one_model=one_model)
    _give_back(reference.device)
    fixed = () if without else _fixed(problem, survivors)
    changing = IN_EVAL if one_model and drawer.depends_on_mode(survivors[0]) else ()
    return Deck(tuple(survivors), spares, drawer.oracle, seed, skipped, moved, fixed, changing, bursts)


def _bursts(drawer: Drawer, seeds: _Seeds, launches: int, *, one_model: bool) -> tuple[tuple[Call, ...], ...]:
    """As many calls for each burst as there is time to answer, up to `launches`, and one at the least."""
    bursts: list[list[Call]] = [[] for _ in range(BURSTS)]
    end = time.thread_time() + BURST_SECONDS
    while launches and (not all(bursts) or (len(bursts[0]) < launches and time.thread_time() < end)):
        for burst in bursts:
            shared = burst[0].model_seed if one_model and burst else None
            burst += [call for call in [drawer.call(NOMINAL, seeds.nominal(), model_seed=shared)] if call]
    return tuple(tuple(burst) for burst in bursts if burst)


def _fixed(problem: Problem, calls: Sequence[Call]) -> tuple[str, ...]:
    """Names of inputs and buffers that are the same in two nominal calls and a stressed one: masks, indices, scalars,
    constants. Stress changes every floating-point input."""
    chosen = [*[call for call in calls if call.nominal][:2], *[call for call in calls if not call.nominal][:1]]
    names = [
        argument.name
        for argument in problem.signature.arguments
        if argument.role is Role.BUFFER or (argument.role is Role.INPUT and not argument.dtype.startswith(FLOATING))
    ]
    contents = [call.values for call in chosen] if names and len(chosen) > 1 else []
    same = [name for name in names if contents and all(torch.equal(contents[0][name], one[name]) for one in contents)]
    scalars = [argument.name for argument in problem.signature.of(Role.SCALAR)]
    values = zip(*(call.scalars for call in chosen), strict=True)
    return (*same, *(name for name, drawn in zip(scalars, values, strict=True) if len({*drawn}) == 1))


def sample(problem: Problem, reference: Reference, seed: int) -> Made:
    """Contents that belong to no deck, for what has to run before there is one."""
    drawer = Drawer(problem, reference)
    return drawer.contents(Call(drawer, NOMINAL, seed ^ 1, 1.0, checked=False))


class _Seeds:
    """The calls' seeds, one after the other; nominal ones all alike unless contents are to be fresh."""

    def __init__(self, seed: int, *, fresh: bool) -> None:
        self._chance = random.Random(seed)
        self._fresh = fresh
        self.first = random.Random(seed).getrandbits(48)
        """The first nominal call's."""

    def nominal(self) -> int:
        drawn = self._chance.getrandbits(48)
        return drawn if self._fresh else self.first

    def stressed(self) -> int:
        return self._chance.getrandbits(48)


def _kinds(problem: Problem, reference: Reference) -> list[str]:
    """Kinds of stress that have something to change, the problem's own ones included."""
    outputs = [argument.dtype for argument in problem.signature.of(Role.OUTPUT)]
    indices = any(not dtype.startswith((*FLOATING, "bool")) for dtype in outputs)
    left_out = {*(AMBIGUOUS if indices else ()), *(() if problem.signature.of(Role.PARAMETER) else OF_PARAMETERS)}
    general = [name for name in STRESS if name not in left_out]
    return [*general, *(name for name in reference.stress if name not in STRESS)]


def _spares(problem: Problem, protocol: Protocol, device: str) -> int:
    wanted = protocol.nominal_calls * (protocol.repeats - 1)
    return wanted if device != "cpu" else min(wanted, max(2, SPARES // problem.bytes_read))


def _give_back(device: str) -> None:
    """The baselines' process needs room on a GPU as well."""
    if device != "cpu":
        torch.cuda.empty_cache()


def _check_memory(problem: Problem, device: str) -> None:
    """A few calls are held at once: contents, float64 answers, the reference's answers, and what comparing takes."""
    needed = FEWEST_HELD * (problem.bytes_read + 6 * problem.bytes_written) + FLOAT64_COPIES * 2 * problem.bytes_read
    memory.require(needed, f"Judging {problem.name}", device)
