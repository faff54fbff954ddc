"""treesearch makes kernels fast by search: ideas in natural language, branched into verified, timed implementations.

    import treesearch

    result = treesearch.search("softmax_small", models=["openai/gpt-5.1"], rounds=3)
    verdicts = treesearch.evaluate("softmax_small", ["kernel.cpp"])
    archive = treesearch.Archive(".treesearch/archive.db")

Importing it does nothing and is fast; what these names need is imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treesearch.api import Result, absorb, estimate, evaluate, search
    from treesearch.archive import Archive

__version__ = "0.1.0"
__all__ = ["Archive", "Result", "__version__", "absorb", "estimate", "evaluate", "search"]


def __getattr__(name: str) -> Any:
    if name == "Archive":
        from treesearch.archive import Archive

        return Archive
    if name in ("Result", "absorb", "estimate", "evaluate", "search"):
        from treesearch import api

        return getattr(api, name)
    raise AttributeError(f"module 'treesearch' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
