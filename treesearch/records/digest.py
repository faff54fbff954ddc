"""Content as identity."""

from __future__ import annotations

import hashlib


def digest(*parts: object) -> str:
    """Hex SHA-256 over the parts' texts, unambiguous about where one part ends."""
    hasher = hashlib.sha256()
    for part in parts:
        encoded = str(part).encode()
        hasher.update(f"{len(encoded)}:".encode() + encoded)
    return hasher.hexdigest()
