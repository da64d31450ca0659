"""Lines whose meaning is known are counted: what stands in their stamps tells when it was, and on which rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from explain.repeats import Counted
from explain.values import dataclass

_TIME_WIDTH = len("2026-11-30 08:00:00")
_LABEL = len("[2026-11-30 08:00:00")


@dataclass(frozen=True, slots=True)
class Again:
    """Events of one finding that one stream told in one life of its server, counted together.

    `first` and `last` are (line number, line); `ranks` says how many there were of each rank ("" for none), `firsts`
    which line was the first one of it.
    """

    source: int
    key: str
    first: tuple[int, bytes]
    last: tuple[int, bytes]
    ranks: Mapping[str, int]
    firsts: Mapping[str, bytes]


def counted(lines: Sequence[Counted], source: int, key: str) -> Again:
    """Lines of one finding in one stream, in their order, as events that are counted together."""
    labels = [
        data[_LABEL : data.find(b"]", _LABEL)] if data[:3] == b"[20" else _stamp(data)[_TIME_WIDTH:]
        for _, _, data in lines
    ]
    begins = dict(zip(reversed(labels), reversed(lines), strict=True))
    ranks: dict[str, int] = {}
    firsts: dict[str, bytes] = {}
    for label, count in Counter(labels).items():
        rank = label.decode("utf-8", "replace").lstrip(".0123456789").strip()
        ranks[rank] = ranks.get(rank, 0) + count
        firsts.setdefault(rank, begins[label][2])
    return Again(source, key, lines[0][1:], lines[-1][1:], ranks, firsts)


def time_of(data: bytes) -> str | None:
    return _stamp(data)[:_TIME_WIDTH].decode("utf-8", "replace") or None


def _stamp(data: bytes) -> bytes:
    """What stands in the stamp of a line, wherever a carrier left it: time and ranks."""
    stamp = data.find(b"[20")
    end = data.find(b"]", stamp)
    return data[stamp + 1 : end] if 0 <= stamp < end else b""
