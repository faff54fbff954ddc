"""Environments of their own, in which wheels are installed and tried as their users have them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path


def environment() -> dict[str, str]:
    """The variables without anything that could lead back to the checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    around = environment() | variables
    done = subprocess.run(command, cwd=cwd, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def fresh(wheel: Path, place: Path) -> Path:
    """`bin` of a new environment at `place` that holds the wheel, and this environment's packages but not treesearch.

    A directory that is named in a `.pth` file joins the path, but `.pth` files inside it are not read: so the editable
    install of the checkout stays out.
    """
    run(sys.executable, "-m", "venv", "--without-pip", place, cwd=place)
    python = place / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=place)
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).strip()
    Path(purelib, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin"
