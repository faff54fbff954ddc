"""`treesearch doctor`: what this machine offers, and how to get what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click

from treesearch.cli import common
from treesearch.models.providers import PROVIDERS

Finding = tuple[str, bool | None, str]
"""What was looked at; whether it is there (None: absent, and not needed); the detail."""


@click.command()
@common.archive_option
@common.json_option
def doctor(archive: str | None, as_json: bool) -> None:
    """Look at compilers, GPU, sandbox, keys and archives. Exits with 1 where something needed is missing."""
    from treesearch.view import tables

    findings = [*_compilers(), *_torch(), *_gpu(), *_sandbox(), *_keys(), *_archives(archive)]
    if as_json:
        common.print_json([{"what": what, "ok": state, "found": detail} for what, state, detail in findings])
    else:
        common.out().print(tables.checks(findings))
    if any(state is False for _, state, _ in findings):
        raise click.exceptions.Exit(1)


def _compilers() -> Iterator[Finding]:
    from treesearch import languages

    for language in languages.LANGUAGES.values():
        path = language.compiler()
        yield f"compiler for {language.title}", path is not None, _version(path) if path else language.compiler_hint
    nvcc = shutil.which("nvcc")
    yield (
        "nvcc (CUDA)",
        True if nvcc else None,
        _version(nvcc) if nvcc else "absent; CUDA kernels will need it (the CUDA toolkit brings it)",
    )


def _torch() -> Iterator[Finding]:
    from treesearch.evaluation.device import cores

    yield "torch", True, f"{version('torch')}, {cores()} cores to run on"


def _gpu() -> Iterator[Finding]:
    smi = shutil.which("nvidia-smi")
    if smi is None:
        yield "GPU", None, "none found (nvidia-smi comes with NVIDIA's driver); kernels run on the CPU"
        return
    query = [smi, "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    found = _output(query)
    yield "GPU", True if found else None, found or "nvidia-smi finds no device"


def _sandbox() -> Iterator[Finding]:
    """Tries it: a child must see no key, and end at its deadline with all that it started."""
    from treesearch.evaluation import sandbox

    here = Path(tempfile.gettempdir())
    variables = sandbox.run(["env"], seconds=10, limits=sandbox.Limits(), cwd=here).output
    leaked = [key for provider in PROVIDERS for key in provider.keys if f"{key}=" in variables]
    hung = sandbox.run(["sh", "-c", "sleep 60 & wait"], seconds=0.2, limits=sandbox.Limits(), cwd=here)
    held = not leaked and hung.timed_out
    works = "basic: deadline for the process group, no keys in the environment, limits on memory, files and privileges"
    yield "sandbox", held, f"{works}; files, network and other processes stay reachable" if held else "does not hold"


def _keys() -> Iterator[Finding]:
    for provider in PROVIDERS:
        names = " or ".join(provider.keys)
        present = provider.has_key(os.environ)
        detail = f"{names} is set; asks {provider.model}" if present else f"set {names} to use it"
        yield f"key for {provider.name}", True if present else None, detail


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
