"""Names of functions as in their source, not as the linker knows them."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache

MANGLED = re.compile(r"\b_Z\w+")
DEMANGLE_SECONDS = 10.0


@lru_cache
def demangled(names: tuple[str, ...]) -> dict[str, str]:
    """Each name as in the source, without its parameters; unchanged where it cannot be read. Names hold no spaces."""
    tool = shutil.which("c++filt")  # comes with the linker that every host compiler needs
    as_they_are = {name: name for name in names}
    if tool is None or not names:
        return as_they_are
    try:
        text = "\n".join(names)
        asked = subprocess.run(
            [tool, "-p"], input=text, capture_output=True, text=True, check=False, timeout=DEMANGLE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return as_they_are
    lines = asked.stdout.splitlines()
    return dict(zip(names, lines, strict=True)) if len(lines) == len(names) else as_they_are
