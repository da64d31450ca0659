"""Lines that were decided before are counted, not read again.

A dense log says the same few things thousands of times with other numbers in them. What a line without its
digits said once, it says again, as long as no digit mattered: no candidate's pattern names one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from explain.expressions import expression
from explain.values import dataclass
from explain.windows import Here, RawLine

_DIGITS = b"0123456789"
_SEEN_BEFORE_DECIDING = 2
MAX_SHAPES = 32_768
_BEGINNINGS = (b"{", b"2")
"""How lines begin, besides with a stamp, that do not continue another one as they stand: JSON and a carrier's time."""
_STAMP = expression(rb"\[20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\]\"\\]{0,80}\]")
_DENSE = 64
"""Spots in a block from which on all its lines are split at once."""
_NEAR = 8192
LONGEST = 2048
"""Longer lines are read every time: they are rare, and their shape is as long as they are."""


@dataclass(slots=True)
class Known:
    """What lines of one shape are: `finding` is the one they belong to, None for nothing to tell.

    `key` is their stream, which holds no digit and so is the same for all of them. `spotless`: only those are meant
    in which none of our literals ends, whatever their digits.
    """

    finding: object | None
    key: str
    serves: bool = False
    """Whether they show that requests are being served."""
    spotless: bool = False


Counted = tuple[Known, int, bytes]
"""What a line is, its number, the line."""


class Repeats:
    """The shapes of one source that were decided, and the line that waits to be counted.

    A line of a known shape is an entry of its own only if the next line does not continue it, so it is held
    until then. `count` is called for held lines that turned out to be whole, `read` for one that did not.
    Of a shape only the hash is kept.
    """

    def __init__(self, count: Callable[[Sequence[Counted]], None], read: Callable[[RawLine], None]) -> None:
        self._count = count
        self._read = read
        self._known: dict[int, Known] = {}
        self._seen: dict[int, int] = {}
        self._held: tuple[Known, RawLine] | None = None
        self._block: bytes = b""
        self._shapes: list[bytes] = []
        self._lines: list[bytes] = []

    def take(self, raw: RawLine) -> bool:
        """Whether `raw` is done with: it is of a known shape and is held until the next line."""
        data = raw.data
        begins = _begins_entry(data)
        known = self._known.get(hash(data.translate(None, _DIGITS))) if begins and len(data) <= LONGEST else None
        if self._held is not None:
            # What a carrier brought may be the rest of a message: a stamp or a known shape begins one.
            self._release(whole=begins and (known is not None or _STAMP.search(data) is not None))
        if known is None or (known.spotless and raw.spot):
            return False
        self._held = (known, raw)
        return True

    def hold(self, known: Known, raw: RawLine) -> None:
        """Holds a line that `take` refused and somebody else knows. What was held before is whole."""
        self._release(whole=True)
        self._held = (known, raw)

    def run(self, here: Here) -> tuple[int, int] | None:
        """Takes lines of known shapes at once; see `windows.Run`."""
        data, position, number, offset, before, ends, spot, most = here
        if data is self._block or len(ends) >= _DENSE:
            if data is not self._block:
                # Of the whole block: for its lines one by one it would take ten times as long.
                self._block = data
                self._shapes = data.translate(None, _DIGITS).split(b"\n")
                self._lines = data.split(b"\n")
            lines = self._lines[before : min(before + most, len(self._lines) - 1)]
            shapes = self._shapes[before : before + most]
        else:
            near = data[position : position + _NEAR]
            shapes = near.translate(None, _DIGITS).split(b"\n")[:-1][:most]
            lines = near.split(b"\n")[: len(shapes)]
        known_of = self._known.get
        taken: list[Counted] = []
        if self._held is not None:
            held, raw = self._held
            taken.append((held, raw.number, raw.data))
        waited = len(taken)
        for line, shape in zip(lines, shapes, strict=False):
            known = known_of(hash(shape))
            if known is None or len(line) > LONGEST or (line[:3] != b"[20" and line[:1] not in _BEGINNINGS):
                break
            after = position + len(line) + 1
            if known.spotless:
                spot = bisect_right(ends, position, spot)
                if spot < len(ends) and ends[spot] < after:
                    break
            taken.append((known, number, line))
            position = after
            number += 1
        if len(taken) == waited:
            return None
        more = len(taken) - waited
        known, number, line = taken.pop()
        self._held = (known, RawLine(number, line, False, offset + position - len(line) - 1))
        if taken:
            self._count(taken)
        return position, more

    def _release(self, *, whole: bool) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            if whole:
                self._count(((held[0], held[1].number, held[1].data),))
            else:
                self._read(held[1])

    @property
    def held(self) -> RawLine | None:
        """The line that waits to be counted."""
        return self._held[1] if self._held else None

    @property
    def held_key(self) -> str:
        """The stream of the line that waits."""
        return self._held[0].key if self._held else ""

    def end(self) -> None:
        """Nothing continues the held line: it is whole."""
        self._release(whole=True)

    def worth_deciding(self, raw: RawLine) -> int | None:
        """The shape of a line that came often enough to be decided for good, else None."""
        data = raw.data
        if len(data) > LONGEST or not _begins_entry(data):
            return None
        shape = hash(data.translate(None, _DIGITS))
        seen = self._seen.get(shape, 0) + 1
        if seen == 1 and len(self._seen) >= MAX_SHAPES:
            return None
        self._seen[shape] = seen
        return shape if seen == _SEEN_BEFORE_DECIDING else None

    def learn_again(self, lines: bytes, known: Known) -> None:
        """Learns those of several lines whose shape was seen before."""
        for line in lines.translate(None, _DIGITS).split(b"\n"):
            shape = hash(line)
            if shape in self._seen:
                self._known.setdefault(shape, known)
            elif len(self._seen) < MAX_SHAPES:
                self._seen[shape] = 1

    def forget(self) -> None:
        """Every shape is to be decided anew."""
        self._known.clear()
        self._seen.clear()

    def learn(self, shape: int, known: Known) -> None:
        self._known[shape] = known


def _begins_entry(data: bytes) -> bool:
    """Whether a line surely continues no other one, but for what a carrier brought."""
    return data[:3] == b"[20" or data[:1] in _BEGINNINGS
