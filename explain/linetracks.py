"""The line history of a file as the packed index has it: made from the text of `linehistory`, and quick to ask.

A few marks are followed from content to content, and what stands between them is not looked at. Of each content is
kept where lines went, in runs (from which line of the content before on; up to which line they are gone; how far those
behind it moved), and which marks came.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import add, sub

from explain.linehistory import Mark, change_of
from explain.sitereader import array_of, bytes_of
from explain.values import dataclass

_HEAD_END = b"\n\n"
_NUMBER = "h"
_NUMBER_BYTES = 2


@dataclass(frozen=True, slots=True)
class _Tracks:
    """Columns for all contents, one after the other."""

    contents: Sequence[tuple[str, range, range]]
    """Of each content its releases, the rows of its runs, and those of the marks that came."""
    first: Sequence[int]
    gone: Sequence[int]
    moved: Sequence[int]
    lines: Sequence[int]
    digits: bytes
    """Two bytes a mark."""

    def after(self, line: int, runs: range) -> int | None:
        """Where a line of the content before stands now; None where it is gone."""
        row = bisect_right(self.first, line, runs.start, runs.stop) - 1
        if row < runs.start:
            return line
        return line + self.moved[row] if line > self.gone[row] else None

    def came(self, digits: str, marks: range) -> Iterator[int]:
        """The lines of the new marks with a hash."""
        sought = _bytes(digits)
        place = self.digits.find(sought, 2 * marks.start, 2 * marks.stop)
        while place >= 0:
            if place % 2 == 0:
                yield self.lines[place // 2]
            place = self.digits.find(sought, place + 1, 2 * marks.stop)


def _bytes(digits: str) -> bytes:
    return int(digits, 16).to_bytes(2, "big")


def packed(history: Iterable[str]) -> bytes:
    """The packed form of a history's text. Raises ValueError where that is damaged."""
    head: list[str] = []
    first: list[int] = []
    gone: list[int] = []
    moved: list[int] = []
    lines: list[int] = []
    hashes: list[str] = []
    before: list[int] = []
    for text in history:
        releases, parts = change_of(text)
        runs, marks = len(moved), len(lines)
        now: list[int] = []
        position = shift = 0
        for kept, dropped, new in parts:
            now += [line + shift for line in before[position : position + kept]]
            position += kept
            if not dropped and not new:
                continue
            start = before[position] if position < len(before) else (before[-1] if before else 0) + 1
            position += dropped
            last = now[-1] if now else 0
            came = list(accumulate((gap for gap, _ in new), initial=last))[1:]
            lines += came
            hashes += [digits for _, digits in new]
            now += came
            first.append(start)
            gone.append(before[position - 1] if dropped else start - 1)
            shift = (now[-1] if now else 0) - (before[position - 1] if position else 0)
            moved.append(shift)
        head.append(f"{releases}\t{len(moved) - runs}\t{len(lines) - marks}")
        before = now
    columns = (_steps(first), map(sub, gone, first), _steps(moved), _steps(lines))
    numbers = b"".join(bytes_of(array(_NUMBER, column)) for column in columns)
    return b"".join(("\n".join(head).encode(), _HEAD_END, numbers, *map(_bytes, hashes)))


def _steps(values: Sequence[int]) -> Iterator[int]:
    """From value to value: small numbers, which take little room when they are compressed."""
    return map(sub, values, (0, *values))


def _read(content: bytes) -> _Tracks:
    head, _, body = content.partition(_HEAD_END)
    contents: list[tuple[str, range, range]] = []
    runs = marks = 0
    for row in head.decode().splitlines():
        releases, more_runs, more_marks = row.split("\t")
        contents.append((releases, range(runs, runs + int(more_runs)), range(marks, marks + int(more_marks))))
        runs, marks = contents[-1][1].stop, contents[-1][2].stop
    end = _NUMBER_BYTES * (3 * runs + marks)
    numbers = array_of(_NUMBER, body[:end])
    first = list(accumulate(numbers[:runs]))
    return _Tracks(
        contents,
        first,
        list(map(add, first, numbers[runs : 2 * runs])),
        list(accumulate(numbers[2 * runs : 3 * runs])),
        list(accumulate(numbers[3 * runs :])),
        body[end:],
    )


def distances(content: bytes, wanted: Sequence[Mark]) -> Iterator[tuple[str, list[int | None]]]:
    """For each content of a file its releases and, for each wanted mark, how far from its line the nearest line
    with its hash is; None where there is none."""
    tracks = _read(content)
    followed: dict[str, list[int]] = {digits: [] for _, digits in wanted}
    for releases, runs, marks in tracks.contents:
        for digits, lines in followed.items():
            stayed = [now for line in lines if (now := tracks.after(line, runs)) is not None]
            followed[digits] = [*stayed, *tracks.came(digits, marks)]
        yield releases, [min((abs(one - line) for one in followed[digits]), default=None) for line, digits in wanted]


def marks_of(content: bytes) -> Iterator[tuple[str, tuple[Mark, ...]]]:
    """For each content of a file its releases and all its marks."""
    tracks = _read(content)
    marks: dict[int, str] = {}
    for releases, runs, came in tracks.contents:
        stayed = {now: digits for line, digits in marks.items() if (now := tracks.after(line, runs)) is not None}
        marks = stayed | {tracks.lines[row]: tracks.digits[2 * row : 2 * row + 2].hex()[1:] for row in came}
        yield releases, tuple(sorted(marks.items()))
