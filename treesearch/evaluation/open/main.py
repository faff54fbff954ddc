"""Starts the worker of the open lane, as a script: `python main.py DESCRIPTOR`.

The package is loaded from where it lies. To look for it on Python's path would be to list the folder that holds it,
which may be the user's, and which the worker's walls therefore hide.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def load_package() -> None:
    home = Path(__file__).resolve().parents[2]
    spec = importlib.util.spec_from_file_location(
        "treesearch", home / "__init__.py", submodule_search_locations=[str(home)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["treesearch"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["treesearch"])


if __name__ == "__main__":
    load_package()
    from treesearch.evaluation.open.worker import main

    main()
