"""How texts are stored."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode

from sqlalchemy import Dialect, Text, TypeDecorator

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` with NUL characters and lone surrogates, which PostgreSQL or UTF-8 cannot hold, as U+FFFD."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", str(text))


class CleanText(TypeDecorator[str]):
    """Text that passes through `clean` on its way in."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else clean(value)


PACKED = "\1deflate:"
"""What a packed text begins with; the rest is base64."""
WORTH_PACKING = 16 << 10
"""Characters from which on a text is packed."""


class PackedText(CleanText):
    """Clean text that is deflated where it is long: what a prompt says of a GPU is four fifths of it, and its archive
    would be nothing but that. No query looks into it."""

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        text = super().process_bind_param(value, dialect)
        if text is None or not (len(text) >= WORTH_PACKING or text.startswith(PACKED)):
            return text
        return PACKED + b64encode(zlib.compress(text.encode())).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or not value.startswith(PACKED):
            return value
        return zlib.decompress(b64decode(value.removeprefix(PACKED))).decode()
