"""Measurements of speed, each a command. Importing any of them has torch's idle threads sleep, as judging does."""

import treesearch.evaluation  # noqa: F401
