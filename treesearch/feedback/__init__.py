"""What a model and a person get to read of an evaluated kernel: one bounded text, the same for every model."""

from __future__ import annotations

from treesearch.feedback.seen import Launch, Metric, Seen
from treesearch.feedback.text import LIMIT, known, of_build, resources, text

__all__ = ["LIMIT", "Launch", "Metric", "Seen", "known", "of_build", "resources", "text"]
