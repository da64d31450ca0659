"""Where a finding happened last, in the words of the reader: numbers of source and stream, not names."""

from __future__ import annotations

from explain.values import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """`line` and `time` are of the last event; `first_line` is of the first in the life it happened in last.

    `later` is how many starts of the server came after; `laters` the same for every start in which it
    happened. `ends` says whether such a failure ends the server if
    nothing catches it: it is an exception or a crash, and not that of one request.
    """

    source: int
    key: str
    line: int
    first_line: int
    time: str | None
    later: int
    ends: bool
    laters: frozenset[int] = frozenset()
