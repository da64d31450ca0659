"""Blocks and their spots -> the lines worth reading, with their numbers.

A healthy log is almost all lines nobody needs. Read are: the head of a source (pastes and small logs whole, so
that even a message that was cut in two by a terminal is seen), and the neighbourhood of every spot.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from explain.model import Block
from explain.newlines import count_newlines

HEAD_BYTES = 256 * 1024
LINES_BEFORE = 3
LINES_AFTER = 40
"""A message under an exception line may be that long and hold no literal of ours."""
BUSY_LINES = 400
"""How far an unfinished traceback is followed where no spot shows that it goes on."""
LONGEST_LINE = 256 * 1024
_AROUND = 32 * 1024
_BATCHES = (b"Decode batch", b"Prefill batch")
_BATCH_NEAR = 16 * 1024
"""How far before a spot a batch line is looked for."""


class RawLine(NamedTuple):
    """One physical line: `number` is 1-based, `data` without its line end, `offset` where it begins.

    `gap`: lines were left out before it.
    `spot`: one of our literals ends in it. A plain tuple, not decoded yet: most lines of a dense log are
    recognised by their bytes.
    """

    number: int
    data: bytes
    gap: bool
    offset: int
    spot: bool = True

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace").removesuffix("\r")


class Here(NamedTuple):
    """The read position in a block: the line at `position` has the `number`; `before` lines of the block came before.

    `offset` is that of `data` in its source, `ends` are the rising end offsets of its spots, `following` numbers the
    first one behind `position`. So many lines as `most` are read for certain.
    """

    data: bytes
    position: int
    number: int
    offset: int
    before: int
    ends: Sequence[int]
    following: int
    most: int

    @property
    def spot(self) -> int:
        """Where the next spot ends, the end of the data without one."""
        return self.ends[self.following] if self.following < len(self.ends) else len(self.data)


Run = Callable[[Here], "tuple[int, int] | None"]
"""Takes several lines at once: (position behind them, how many), None where they are better read one by one."""


class Window:
    """Chooses lines of one source. `busy` says whether the reader is inside a traceback.

    `run` is asked at lines that are read for certain whether it takes some of them at once.
    """

    def __init__(
        self, busy: Callable[[], bool], run: Run | None = None, *, head: int = HEAD_BYTES, first_line: int = 1
    ) -> None:
        self._busy = busy
        self._run = run
        self._head = head
        self._number = first_line  # of the line at the read position
        self._after = 0
        self._busy_left = BUSY_LINES
        self._gap = False
        self._recent: list[tuple[int, bytes]] = []  # last lines of the block before, when they were not read
        self._in_line = False  # the block before ended in the middle of a line
        self.bytes = 0

    @property
    def next_line(self) -> int:
        """The number of the line at the read position."""
        return self._number

    @property
    def lines(self) -> int:
        """Physical lines so far, a last one without a line end included."""
        return self._number - 1 + (1 if self._in_line else 0)

    def lines_of(self, block: Block, ends: Sequence[int]) -> Iterator[RawLine]:
        """The lines of `block` to read; `ends` are the rising end offsets of its spots."""
        data = block.data
        position, spot = 0, 0
        length = len(data)
        first = self._number
        run = self._run
        while position < length:
            while spot < len(ends) and ends[spot] <= position:
                spot += 1
            wanted = self._after > 0 or block.offset + position < self._head
            if not wanted and self._busy_left > 0 and self._busy():
                wanted = True
                self._busy_left -= 1
            if not wanted:
                start = self._skip_to(data, position, ends[spot] if spot < len(ends) else -1)
                if start < 0:
                    break
                yield from self._context(block, position, start)
                position = start
                self._after = 1
                continue
            if self._after > 0 and run is not None and not self._gap:
                before = self._number - first
                taken = run(Here(data, position, self._number, block.offset, before, ends, spot, self._after))
                if taken is not None:
                    position, lines = taken
                    self._number += lines
                    spot = self._behind(data, position, lines, ends, spot)
                    continue
            end = data.find(b"\n", position)
            stop = length if end < 0 else end
            has_spot = spot < len(ends) and ends[spot] <= stop
            if has_spot:
                self._after = LINES_AFTER
                self._busy_left = BUSY_LINES
            else:
                self._after = max(self._after - 1, 0)
            yield self._line(block, position, stop, ends[spot] if has_spot else position, has_spot)
            self._in_line = end < 0
            if end < 0:
                position = length
            else:
                self._number += 1
                position = end + 1
            self._recent = []
        self.bytes = block.offset + length

    def _behind(self, data: bytes, position: int, lines: int, ends: Sequence[int], spot: int) -> int:
        """The first spot behind lines that were taken at once; what they mean for the lines after them."""
        behind = bisect_right(ends, position - 1, spot)
        if behind > spot:
            since = data.count(b"\n", ends[behind - 1], position) - 1
            self._after = max(LINES_AFTER - since, 0)
            self._busy_left = BUSY_LINES
        else:
            self._after = max(self._after - lines, 0)
        self._in_line = False
        self._recent = []
        return behind

    def _line(self, block: Block, start: int, stop: int, spot: int, has_spot: bool = True) -> RawLine:
        offset = block.offset + start
        if stop - start > LONGEST_LINE:
            start = max(start, spot - _AROUND)
            stop = min(stop, spot + _AROUND)
        line = RawLine(self._number, block.data[start:stop], self._gap, offset, has_spot)
        self._gap = False
        return line

    def _skip_to(self, data: bytes, position: int, spot_end: int) -> int:
        """Moves past lines nobody needs; the start of the line with the next spot, -1 where none is left."""
        if spot_end < 0:
            newlines = count_newlines(data, position)
            self._remember(data, position, newlines)
            self._number += newlines
            self._in_line = not data.endswith(b"\n")
            self._gap = True
            return -1
        return max(data.rfind(b"\n", position, spot_end) + 1, position)

    def _context(self, block: Block, position: int, start: int) -> Iterator[RawLine]:
        """The few lines before a spot's line, and the numbers of those that are skipped."""
        data = block.data
        begin = start
        for _ in range(LINES_BEFORE):
            if begin <= position:
                break
            begin = max(data.rfind(b"\n", position, begin - 1) + 1, position)
        if begin > position:
            yield from self._batch_before(block, position, begin)
        elif self._recent and position == 0:
            missing = LINES_BEFORE - data.count(b"\n", begin, start)
            for number, raw in self._recent[-missing:] if missing > 0 else []:
                yield RawLine(number, raw, self._gap, block.offset)
                self._gap = False
        self._recent = []
        while begin < start:
            stop = data.find(b"\n", begin)
            yield self._line(block, begin, stop, begin)
            self._number += 1
            begin = stop + 1

    def _batch_before(self, block: Block, position: int, begin: int) -> Iterator[RawLine]:
        """Skips the lines from `position` to `begin`, but for the last batch line: it shows the load before."""
        data = block.data
        near = max(position, begin - _BATCH_NEAR)
        found = max(data.rfind(mark, near, begin) for mark in _BATCHES)
        if found >= 0:
            start = max(data.rfind(b"\n", position, found) + 1, position)
            stop = data.find(b"\n", found)
            if 0 <= stop < begin:
                if start > position:
                    self._number += count_newlines(data, position, start)
                    self._gap = True
                yield self._line(block, start, stop, start)
                self._number += 1
                position = stop + 1
        if begin > position:
            self._number += count_newlines(data, position, begin)
            self._gap = True

    def _remember(self, data: bytes, position: int, newlines: int) -> None:
        """Keeps the last lines of the block: a spot in the next one may need them."""
        kept = self._recent if position == 0 else []
        self._recent = []
        end = len(data)
        if not data.endswith(b"\n"):
            return
        number = self._number + newlines
        for _ in range(LINES_BEFORE):
            if end <= position:
                break
            start = max(data.rfind(b"\n", position, end - 1) + 1, position)
            number -= 1
            self._recent.insert(0, (number, data[start : min(end - 1, start + _AROUND)]))
            end = start
        self._recent = [*kept, *self._recent][-LINES_BEFORE:]
