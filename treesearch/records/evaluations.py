"""What happened to a kernel on a device."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from treesearch.records.digest import digest


class Status(StrEnum):
    """What became of a kernel."""

    NO_CODE = "no_code"
    BUILD_FAILED = "build_failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    BROKE_CONTRACT = "broke_contract"
    """It allocates or synchronises in `launch`, or cannot be captured into a graph."""
    WRONG = "wrong"
    SUSPECT = "suspect"
    VERIFIED = "verified"

    @property
    def timed(self) -> bool:
        return self in (Status.SUSPECT, Status.VERIFIED)


@dataclass(frozen=True)
class Timing:
    """Samples of one thing's run time, in milliseconds, in the order taken."""

    samples: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.samples or min(self.samples) <= 0:
            raise ValueError("a timing needs at least one sample, all of them positive")

    @cached_property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def quartiles(self) -> tuple[float, float]:
        """First and third quartile."""
        if len(self.samples) == 1:
            return self.samples[0], self.samples[0]
        first, _, third = statistics.quantiles(self.samples, n=4, method="inclusive")
        return first, third


@dataclass(frozen=True)
class Ratio:
    """A speed-up (baseline time ÷ kernel time) with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Conditions:
    """What the machine was like while a kernel was timed: medians over its samples, None where it does not tell."""

    clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    power_watts: float | None = None
    celsius: float | None = None
    throttled: int = 0
    """Samples that were discarded because the device held its clock down."""
    reasons: tuple[str, ...] = ()
    """Why it did: `power cap`, `thermal slowdown`, …"""
    others: float | None = None
    """Share of all cores that other processes used, from 0 to 1."""


@dataclass(frozen=True)
class Configuration:
    """The reference under other settings of torch than its own. It has a timing and a speed-up, or an error."""

    name: str
    """`TF32`, `channels_last + cudnn.benchmark`, …"""
    timing: Timing | None = None
    speedup: Ratio | None = None
    """Of the kernel over it."""
    error: str = ""
    """Why it is no baseline: it is wrong where kernels are not allowed to be, or does not run."""

    def __post_init__(self) -> None:
        if (self.timing is None) != (self.speedup is None) or (self.timing is None) != bool(self.error):
            raise ValueError("a configuration has a timing with a speed-up, or an error")


@dataclass(frozen=True)
class Measurement:
    """A kernel's time beside both baselines', sampled in turn on the same inputs."""

    kernel: Timing
    eager: Timing
    eager_speedup: Ratio
    compile: Timing | None = None
    compile_speedup: Ratio | None = None
    compile_error: str = ""
    """Why torch.compile has no timing."""
    conditions: Conditions | None = None
    warm: float | None = None
    """Milliseconds of a launch right after another on the same data, which caches may still hold; None if not known."""
    parent_speedup: Ratio | None = None
    """Over the kernel that it was made from, launched in turn with it, where both were compared."""
    configurations: tuple[Configuration, ...] = ()
    """Torch under other settings, where the kernel was measured for good."""

    def __post_init__(self) -> None:
        if (self.compile is None) != (self.compile_speedup is None):
            raise ValueError("torch.compile has either both a timing and a speed-up or neither")

    @property
    def speedup(self) -> Ratio:
        """Against the better of the two baselines."""
        if self.compile is None or self.compile_speedup is None or self.compile.median >= self.eager.median:
            return self.eager_speedup
        return self.compile_speedup

    @property
    def fastest_torch(self) -> Configuration:
        """The fastest of eager, torch.compile and the configurations that are baselines, with the speed-up over it."""
        found = [Configuration("eager", self.eager, self.eager_speedup)]
        if self.compile is not None:
            found.append(Configuration("torch.compile", self.compile, self.compile_speedup))
        found += [one for one in self.configurations if one.timing]
        return min(found, key=lambda one: one.timing.median if one.timing else math.inf)


@dataclass(frozen=True)
class Accuracy:
    """Largest errors seen, against the oracle; `worst_error` and `eager_error` over all checked calls, as ‖error‖ ÷
    ‖reference‖ of the worst row."""

    calls: int
    worst_error: float
    eager_error: float
    oracle: str
    """`float64`, or `native` where a lower-precision operator ran in the reference answer."""
    precision: str
    """What the errors on nominal inputs amount to: `float32-like`, `float16-like`, `lower`."""
    elementwise: float | None = None
    """The smallest tolerance that every element of every nominal call is within, as both rtol and atol of
    torch.allclose; None where it was not looked at."""


@dataclass(frozen=True)
class Build:
    """What the compiler said. `log` keeps head and tail of its output."""

    command: str
    seconds: float
    cached: bool
    log: str


@dataclass(frozen=True)
class Resources:
    """What the compiler says one device function of a kernel takes. Bytes are per thread, shared ones per block."""

    function: str
    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    shared_bytes: int
    """Static shared memory; what is asked for at launch comes on top."""


@dataclass(frozen=True)
class Protocol:
    """How kernels are judged. Two evaluations compare only under the same protocol."""

    tolerance: float
    deadline_seconds: float = 20.0
    threads: int = 1
    nominal_calls: int = 8
    repeats: int = 5
    version: int = 3

    @property
    def id(self) -> str:
        fields = (self.tolerance, self.deadline_seconds, self.threads, self.nominal_calls, self.repeats)
        return digest(self.version, *fields)[:12]


@dataclass(frozen=True)
class Rate:
    """Operations a second that matrix products reach in one precision; a multiply-add counts as two."""

    precision: str
    """`float64`, `float32`, `tf32`, `bfloat16`, `float16`, `float8`."""
    flops: float


@dataclass(frozen=True)
class Device:
    """The hardware a kernel ran on. Measured figures are None, or absent, where nobody measured them."""

    kind: str
    """`cpu` or `cuda`."""
    name: str
    cores: int
    """Of a GPU, its streaming multiprocessors."""
    memory_bytes: int
    features: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    """Such as `L2 1 MiB`, smallest first."""
    architecture: str = ""
    """What kernels are compiled for, where that is not the machine that compiles: `sm_90a`."""
    clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    shared_memory_bytes: int | None = None
    """Most shared memory that one block of a GPU may ask for."""
    bandwidth: float | None = None
    """Bytes a second of a large copy within the device's memory, read and written both counted; measured."""
    rates: tuple[Rate, ...] = ()
    """Measured."""
    noise: float | None = None
    """How far the ratio of two measurements of one kernel is from 1, 95 times in 100; measured."""
    software: tuple[str, ...] = ()
    """Driver, CUDA and torch when it was measured."""

    @property
    def id(self) -> str:
        return digest(self.kind, self.name, self.cores, *self.features)[:12]


class Label(StrEnum):
    """What a reader should know of a verdict beside its status."""

    OPEN = "open"
    """The kernel's own Python ran in the process that timed it."""
    LIBRARY = "library"
    """It calls a library, which its problem allows."""
    ALGORITHMIC = "algorithmic"
    """It is faster than the reference's operations could be done: it does fewer."""
    VARYING = "varying"
    """Equal calls give answers that are right but not equal bit by bit."""
    BACK_TO_BACK = "back-to-back"
    """Launches in a row take clearly longer than single ones; the time is theirs."""
    FIXED_INPUTS = "fixed-inputs"
    """Some inputs have the same contents in every draw of the problem; nothing shows that the kernel reads them."""
    SANITIZED = "sanitized"
    """compute-sanitizer's four tools found nothing in it, as they are asked about the fastest kernels."""


@dataclass(frozen=True)
class Evaluation:
    """What happened to a kernel on one device under one protocol. Timings exist only if it was timed."""

    status: Status
    device: str
    """Id of the device."""
    protocol: Protocol
    error: str = ""
    accuracy: Accuracy | None = None
    measurement: Measurement | None = None
    build: Build | None = None
    software: tuple[str, ...] = ()
    """Versions that matter: `torch 2.13.0`, `g++ 12.2.0`, …"""
    seed: int = 0
    """Seed of the deck of inputs it was judged with."""
    seconds: float = 0.0
    """Wall time from source to verdict."""
    created: str = ""
    """ISO 8601, UTC; empty until stored."""
    labels: tuple[Label, ...] = ()
    profile: str = ""
    """What the compiler, the disassembler and the clocks say of it, as a model gets to read it; bounded."""
    sandbox: str = ""
    """What kept the kernel from the machine, strongest first: `namespaces (…), Landlock 7, seccomp, …`; empty where
    it never ran."""

    def __post_init__(self) -> None:
        if self.status.timed != (self.measurement is not None):
            raise ValueError(f"a kernel that is {self.status} has {'a' if self.status.timed else 'no'} measurement")
        if self.status is Status.VERIFIED and (self.accuracy is None or self.error):
            raise ValueError("a verified kernel has an accuracy and no error")
        if self.status is not Status.VERIFIED and not self.error:
            raise ValueError(f"a kernel that is {self.status} needs an error that says why")

    @property
    def milliseconds(self) -> float | None:
        return self.measurement.kernel.median if self.measurement else None


class Purpose(StrEnum):
    """Why a kernel that has its verdict was measured again."""

    FINAL = "final"
    """It won: the figure to publish, which its selection among many has not flattered."""
    REBENCH = "rebench"
    """A person asked for it."""


@dataclass(frozen=True)
class Remeasurement:
    """A later measurement of a kernel, in a fresh process and on fresh inputs. Its verdict stays what it was."""

    kernel: str
    purpose: Purpose
    evaluation: Evaluation


class Outcome(StrEnum):
    """Which of two kernels is faster."""

    FASTER = "faster"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Comparison:
    """Two kernels of one problem, launched in turn on the same inputs."""

    first: str
    second: str
    device: str
    ratio: Ratio
    """Time of the second ÷ time of the first, with its 95 % interval: above 1 the first is faster."""
    pairs: int
    outcome: Outcome
    """What the first is, compared with the second."""
    created: str = ""
