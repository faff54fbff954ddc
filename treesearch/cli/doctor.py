"""`treesearch doctor`: what this machine offers, and how to get what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click

from treesearch.cli import common
from treesearch.models.providers import PROVIDERS
from treesearch.records import Answer, Device, Request

Finding = tuple[str, bool | None, str]
"""What was looked at; whether it is there (None: absent, and not needed); the detail."""

QUESTION = "Answer with this one word and nothing else: ready"
PATIENCE = 120.0
"""Seconds a model may take to say one word; reasoning models think about that, too."""


@click.command()
@click.option("--measure", is_flag=True, help="Measure anew how far apart two measurements of one kernel are.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="Put one tiny question to this model, which may cost money.",
)
@click.option("--api-base", metavar="URL", help="Address of the models' endpoint [default: the provider's].")
@common.archive_option
@common.json_option
def doctor(measure: bool, models: tuple[str, ...], api_base: str | None, archive: str | None, as_json: bool) -> None:
    """Look at compilers, GPU, sandbox, noise, keys and archives. Exits with 1 where something needed is missing.

    Nothing is asked of a model unless it is named.
    """
    from treesearch.view import tables

    gpu = _has_gpu()
    machine = [*_compilers(gpu), *_torch(), *_cuda(gpu), *_sandbox(gpu), *_noise(gpu, measure)]
    asked = [model_finding(name, api_base) for name in models]
    findings = [*machine, *_keys(), *asked, *_archives(archive)]
    if as_json:
        common.print_json([{"what": what, "ok": state, "found": detail} for what, state, detail in findings])
    else:
        common.out().print(tables.checks(findings))
    if any(state is False for _, state, _ in findings):
        raise click.exceptions.Exit(1)


def _has_gpu() -> bool:
    from treesearch.evaluation.device import has_gpu

    return has_gpu()


def _compilers(gpu: bool) -> Iterator[Finding]:
    """One for each language; needed for the devices that are here."""
    from treesearch import languages

    for language in languages.LANGUAGES.values():
        path = language.compiler()
        absent = False if gpu or "cpu" in language.device_kinds else None
        detail = _version(path) if path else f"absent; {language.compiler_hint}"
        yield f"compiler for {language.title}", True if path else absent, detail


def _torch() -> Iterator[Finding]:
    from treesearch.evaluation.device import cores

    yield "torch", True, f"{version('torch')}, {cores()} cores to run on"


def _cuda(gpu: bool) -> Iterator[Finding]:
    """The GPU, and whether CUDA kernels can be built and judged on it."""
    from treesearch.languages import CUDA

    smi = shutil.which("nvidia-smi")
    query = [smi or "", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    if gpu:
        yield "GPU", True, (_output(query) if smi else "") or "found; nvidia-smi, which would name it, does not answer"
    else:
        yield "GPU", None, "none that NVIDIA's driver can use; kernels run on the CPU"
    yield cuda_finding(gpu, CUDA.compiler() is not None, gpu and _torch_sees_gpu())


def cuda_finding(gpu: bool, compiler: bool, torch_sees_gpu: bool) -> Finding:
    """Whether CUDA kernels can run here, and what is missing in words."""
    torch = f"a torch that can use the GPU ({version('torch')} cannot)"
    needed = {"a GPU with NVIDIA's driver": gpu, "nvcc": compiler, torch: torch_sees_gpu or not gpu}
    missing = " and ".join(what for what, there in needed.items() if not there)
    if not missing:
        return "CUDA kernels", True, "are built, verified and timed here"
    elsewhere = "; they can be built here, and judged where a GPU is" if compiler and not gpu else ""
    return "CUDA kernels", False if gpu else None, f"cannot run here without {missing}{elsewhere}"


def _torch_sees_gpu() -> bool:
    """Asked of a process of its own, which a driver that hangs or crashes takes with it."""
    return _output([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"]) == "True"


def _sandbox(gpu: bool) -> Iterator[Finding]:
    """Tries it: a child must see no key, and end at its deadline with all that it started."""
    from treesearch.evaluation import sandbox, walls

    around = walls.Walls(walls.readable(), processes=True)
    variables = sandbox.run(["env"], seconds=10, limits=sandbox.Limits(), cwd=Path("/"), walls=around).output
    leaked = [key for provider in PROVIDERS for key in provider.keys if f"{key}=" in variables]
    hung = ["sh", "-c", "sleep 60 & wait"]
    held = not leaked and sandbox.run(hung, seconds=0.2, limits=sandbox.Limits(), cwd=Path("/"), walls=around).timed_out
    offered = walls.available(gpu)
    if not held:
        yield "sandbox", False, "does not hold"
    elif offered.warning:
        yield "sandbox", None, f"{offered.description}: {offered.warning}"
    else:
        yield "sandbox", True, offered.description


def _noise(gpu: bool, measure: bool) -> Iterator[Finding]:
    """How far apart two measurements of one kernel are on each device, measured now or before."""
    from treesearch.errors import TreesearchError
    from treesearch.evaluation import device

    for kind in ("cpu", "cuda") if gpu and _torch_sees_gpu() else ("cpu",):
        try:
            found = device.local(kind)
            yield noise_finding(_measured(found) if measure else found)
        except TreesearchError as error:
            yield f"noise of {kind}", False if measure else None, str(error)


def _measured(found: Device) -> Device:
    from treesearch.evaluation import noise

    return noise.measured(found, lambda what: click.echo(f"noise of {found.name}: {what} …", err=True))


def noise_finding(hardware: Device) -> Finding:
    """What is known of a device's noise, in words."""
    what = f"noise of {hardware.kind}"
    if hardware.noise is None:
        return what, None, "never measured; `treesearch doctor --measure` does, in half a minute"
    return (
        what,
        True,
        f"two measurements of one kernel differ by less than {100 * hardware.noise:.1f} %, 95 times in 100",
    )


def _keys() -> Iterator[Finding]:
    for provider in PROVIDERS:
        names = " or ".join(provider.keys)
        present = provider.has_key(os.environ)
        detail = f"{names} is set; asks {provider.model}" if present else f"set {names} to use it"
        yield f"key for {provider.name}", True if present else None, detail


def model_finding(given: str, api_base: str | None = None) -> Finding:
    """What a model says to a tiny question and how long it takes, or why it cannot be asked."""
    from treesearch.errors import TreesearchError
    from treesearch.models import FileModel, ModelOptions, check, open_model, pool
    from treesearch.records import Sampling

    name, _ = pool.weighted(given)
    what, options = f"model {name}", ModelOptions(PATIENCE, attempts=1, api_base=api_base)
    if name.startswith("replay/"):
        return what, None, "repeats recorded answers; there is nothing to ask"
    try:
        model = open_model(name, sampling=Sampling(), options=options)
        check(model)
        if isinstance(model, FileModel):
            return what, True, f"questions can be written to {model.folder}"
        return what, True, _said(model.ask(_tiny_question()))
    except TreesearchError as error:
        return what, False, str(error)


def _tiny_question() -> Request:
    from treesearch.records import Stage

    return Request("doctor", 0, Stage.IDEAS, "", "", "0", QUESTION)


def _said(answer: Answer) -> str:
    """The answer, its latency and its cost, in words."""
    from treesearch.records import Spending
    from treesearch.view import text

    by = f" as {answer.answered_by}" if answer.answered_by else ""
    said = text.one_line(answer.text, 40)
    return f"answered {said!r}{by} in {answer.seconds or 0:.1f} s; {text.spend(Spending.of(answer.usage))}"


def _archives(archive: str | None) -> Iterator[Finding]:
    from treesearch import resources

    yield _archive("shipped record", str(resources.record()))
    named = common.named_archive(archive)
    if "://" not in named and not Path(named).exists():
        yield "working archive", None, f"{named}, to be created by the first run"
    else:
        yield _archive("working archive", named)


def _archive(what: str, place: str) -> Finding:
    from treesearch.archive import Archive
    from treesearch.errors import ArchiveError

    try:
        with Archive(place, read_only=True) as store:
            runs = store.runs()
            return what, True, f"{store.url}, {len(runs)} run{'' if len(runs) == 1 else 's'}"
    except ArchiveError as error:
        return what, False, str(error)


def _version(tool: str | None) -> str:
    if tool is None:
        return ""
    lines = [line for line in _output([tool, "--version"]).splitlines() if line.strip()]
    return f"{next((line for line in lines if 'release' in line), lines[0] if lines else '')} ({tool})"


def _output(command: list[str]) -> str:
    """What a tool prints, or nothing where it fails or hangs."""
    try:
        asked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""
