"""The format `package`: a Python package with the kernel compiled ahead of time, so that its users need no compiler."""

from __future__ import annotations

import platform
import re
import shlex
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from treesearch.errors import ToolchainError, UsageError
from treesearch.evaluation import elf
from treesearch.evaluation.build import Built, build
from treesearch.export import checks, module
from treesearch.export.exported import Exported
from treesearch.export.files import Files, render
from treesearch.languages import Language

LIBRARY = "kernel.so"
REQUIRES_TORCH = "torch>=2.11"
EXTENSIONS = re.compile(
    r"s?sse\w*|avx\w*|amx\w*|fma|f16c|bmi[12]|abm|movbe|popcnt|adx|aes|vaes|v?pclmulqdq|sha_ni|gfni|asimd\w*|sve\w*|bf16|i8mm"
)
"""Names in /proc/cpuinfo of instructions that a compiler which is told `-march=native` may use."""


@dataclass(frozen=True)
class Binary:
    """A kernel, compiled."""

    content: bytes
    needed: tuple[str, ...]
    """Libraries that the loader looks for, by name."""
    command: str
    portable: bool
    """Whether it holds PTX beside the code of its own GPU, so that the drivers of newer ones can compile it."""


def files(exported: Exported) -> Files:
    """Raises UsageError for a kernel that is no compiled code, and ToolchainError where it does not build here."""
    if not exported.language.sealed:
        raise UsageError(
            f"Kernel {exported.id} is a Python module, which is not compiled ahead of time; export it with "
            "--format module."
        )
    name, language = module.file_name(exported), exported.language
    binary = compiled(exported)
    return {
        "pyproject.toml": _rendered("pyproject.toml.j2", exported, binary),
        "hatch_build.py": _rendered("hatch_build.py.j2", exported, binary),
        "README.md": _rendered("package_readme.md.j2", exported, binary),
        f"{name}/__init__.py": _module(exported, binary),
        f"{name}/benchmark.py": _rendered("benchmark.py.j2", exported, binary),
        f"{name}/{LIBRARY}": binary.content,
        f"{name}/kernel{language.suffix}": exported.source,
        f"{name}/problem.h": language.header(exported.problem),
        f"tests/test_{name}.py": checks.generated(exported, name, installed=True),
    }


def use(exported: Exported, target: Path) -> tuple[str, str]:
    name = module.file_name(exported)
    place = target if target.is_absolute() else f"./{target}"  # a bare name is one that pip asks its index for
    return (
        f"pip install {shlex.quote(str(place))}  # then: from {name} import ModelNew",
        f"pytest {shlex.quote(str(target / 'tests'))}  # or: python -m {name}.benchmark",
    )


def known(exported: Exported) -> dict[str, Any]:
    binary = compiled(exported)
    return {
        "package": {
            "platform": wheel_platform(),
            "architecture": exported.architecture or platform.machine(),
            "newer_gpus": binary.portable,
            "cpu_features": list(cpu_features(exported)),
            "needs": list(binary.needed),
            "command": binary.command,
        }
    }


def compiled(exported: Exported) -> Binary:
    """The kernel as the evaluator builds it; for a GPU with PTX beside it, unless it is written for that GPU alone."""
    language = exported.language
    if exported.device.kind == "cuda":
        portable = _built(exported, replace(language, command=_with_ptx(language.command)))
        if portable.library:
            return _binary(portable, portable=True)
    built = _built(exported, language)
    if built.library is None:
        raise ToolchainError(f"Kernel {exported.id} does not build with the compiler that is here: {built.error}")
    return _binary(built, portable=False)


def _built(exported: Exported, language: Language) -> Built:
    return build(exported.problem, language, exported.source, exported.architecture)


def _binary(built: Built, *, portable: bool) -> Binary:
    assert built.library is not None
    return Binary(built.library.read_bytes(), elf.read(built.library).needed, built.record.command, portable)


Command = Callable[[str, Path, Path, str], list[str]]


def _with_ptx(command: Command) -> Command:
    def whole(compiler: str, source: Path, output: Path, architecture: str) -> list[str]:
        # Of sm_90a, compute_90: what newer GPUs have in common with it.
        generation = "compute_" + re.sub(r"\D", "", architecture)
        return [*command(compiler, source, output, architecture), f"-gencode=arch={generation},code={generation}"]

    return whole


def cpu_features(exported: Exported) -> tuple[str, ...]:
    """Instructions that this CPU has, and that compiled code may use; none of a GPU's kernel."""
    if exported.device.kind == "cuda":
        return ()
    try:
        said = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", said, re.MULTILINE)
    return tuple(sorted(name for name in found[1].split() if EXTENSIONS.fullmatch(name))) if found else ()


def wheel_platform() -> str:
    """The platform's part of a wheel's tag, such as `linux_x86_64`."""
    return re.sub(r"[-.]", "_", sysconfig.get_platform())


def _module(exported: Exported, binary: Binary) -> str:
    name = module.file_name(exported)
    said = {**module.described(exported, name), **_described(exported, binary)}
    # Another operator than that of an export as a module: a process may have both.
    return render("package.py.j2", **{**said, "operator": f"{exported.name}_{exported.id}_package"})


def _rendered(template: str, exported: Exported, binary: Binary) -> str:
    return render(template, **_described(exported, binary))


def _described(exported: Exported, binary: Binary) -> dict[str, Any]:
    """What the templates are told of a package."""
    name, language = module.file_name(exported), exported.language
    return {
        "ahead": True,
        "file": name,
        "distribution": name.strip("_"),
        "version": f"0.1.0+{language.name}.{exported.id}",
        "title": exported.problem.name,
        "kind": exported.device.kind,
        "cuda": exported.device.kind == "cuda",
        "architecture": exported.architecture,
        "capability": _capability(exported.architecture),
        "portable": binary.portable,
        "runtime": _runtime(binary.needed),
        "needed": binary.needed,
        "machine": platform.machine(),
        "cpu_features": cpu_features(exported),
        "platform": wheel_platform(),
        "library": LIBRARY,
        "source_file": f"kernel{language.suffix}",
        "command": binary.command,
        "requires_torch": REQUIRES_TORCH,
    }


def _capability(architecture: str) -> tuple[int, int] | None:
    """What torch calls an architecture: (9, 0) of `sm_90a`."""
    digits = re.sub(r"\D", "", architecture)
    return (int(digits[:-1]), int(digits[-1])) if digits else None


def _runtime(needed: tuple[str, ...]) -> str:
    """The major release of the CUDA runtime among these libraries; empty where it is not."""
    found = (re.fullmatch(r"libcudart\.so\.(\d+)", name) for name in needed)
    return next((match[1] for match in found if match), "")
