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
"""What a packed text begins with; its length and a colon follow, which the oldest lack, and then base64."""
WORTH_PACKING = 16 << 10
"""Characters from which on a text is packed, unless its column says otherwise."""
LEVEL = 4
"""zlib's: half the time that its usual one takes, for 3 % more bytes of a prompt."""
HEAD = len(PACKED) + 12
"""Characters in which a packed text has told its length."""


class PackedText(CleanText):
    """Clean text that is deflated where it is long: what a prompt says of a GPU is four fifths of it, and what is
    answered holds a kernel that is kept once more. What queries look for in it, they do not find."""

    cache_ok = True

    def __init__(self, worth: int = WORTH_PACKING) -> None:
        """`worth` is how many characters a text has at the least that is packed."""
        super().__init__()
        self.worth = worth

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        text = super().process_bind_param(value, dialect)
        if text is None or not (len(text) >= self.worth or text.startswith(PACKED)):
            return text
        return f"{PACKED}{len(text)}:{b64encode(zlib.compress(text.encode(), LEVEL)).decode()}"

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or not value.startswith(PACKED):
            return value
        return zlib.decompress(b64decode(value.removeprefix(PACKED).rpartition(":")[2])).decode()


def characters(head: str, stored: int) -> int:
    """How long a text is of which the first HEAD characters, and the length, of what is stored are known.

    One that was packed before its length was told counts as what is stored of it.
    """
    length, told, _ = head.removeprefix(PACKED).partition(":")
    return int(length) if head.startswith(PACKED) and told else stored
