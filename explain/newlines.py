"""How many line ends stand in a piece of a log: with the scan itself, what reading an ordinary log costs."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 13):

    def count_newlines(data: bytes, start: int = 0, end: int = sys.maxsize) -> int:
        return data.count(b"\n", start, end)
else:

    def count_newlines(data: bytes, start: int = 0, end: int = sys.maxsize) -> int:
        # `count` looks at byte after byte there; `replace` jumps from one to the next: half the time, copy included.
        piece = data[start:end]
        return len(piece) - len(piece.replace(b"\n", b""))
