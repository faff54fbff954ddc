"""Where the programs of the CUDA toolkit lie."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path


def find(name: str, *folders: str) -> str | None:
    """A program on PATH, in `bin` or other `folders` of a toolkit in the usual places, or of NVIDIA's packages in this
    environment."""
    found = shutil.which(name)
    if found:
        return found
    homes = [Path(os.environ[home]) for home in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(home)]
    packaged = sorted(Path(sysconfig.get_path("purelib")).glob(f"nvidia/cu*/bin/{name}"), reverse=True)
    usual = [home / folder / name for home in [*homes, Path("/usr/local/cuda")] for folder in ("bin", *folders)]
    return next((str(place) for place in [*usual, *packaged] if os.access(place, os.X_OK)), None)
