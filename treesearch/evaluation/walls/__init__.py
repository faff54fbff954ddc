"""What keeps a child process from the machine: which walls a child needs, and which of them this machine offers."""

from __future__ import annotations

from treesearch.evaluation.walls.tiers import Sandbox, Tier, available
from treesearch.evaluation.walls.walls import Walls, readable, toolchain

__all__ = ["Sandbox", "Tier", "Walls", "available", "readable", "toolchain"]
