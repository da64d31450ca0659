"""Where the lines of a file that can stand in a traceback were, release by release, in little space.

A mark is a line that calls, raises, asserts or imports: its number and twelve bits of its text's hash. A
file's history is text: a line for each distinct content with its releases, the first in full, each later
one as what changed. So a traceback's file, line number and code line tell which releases they fit.

    0.5.1..0.5.2<TAB>=3a1f,1b07,…      all marks: lines since the mark before, then three hex digits
    0.5.3<TAB>120.2-1b07,4c11.88       keep 120, drop 2 and put these in their place, keep 88
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from explain.values import dataclass

Mark = tuple[int, str]
"""Line number, three hex digits."""


def _relative(marks: Sequence[Mark]) -> list[str]:
    tokens: list[str] = []
    before = 0
    for line, digits in marks:
        tokens.append(f"{line - before}{digits}")
        before = line
    return tokens


def encode(contents: Sequence[tuple[str, Sequence[Mark]]]) -> list[str]:
    """The history as text lines, from (releases, marks) in the order of the releases."""
    lines: list[str] = []
    before: list[str] | None = None
    for releases, marks in contents:
        tokens = _relative(marks)
        change = "=" + ",".join(tokens) if before is None else _difference(before, tokens)
        lines.append(f"{releases}\t{change}")
        before = tokens
    return lines


def _difference(old: list[str], new: list[str]) -> str:
    from difflib import SequenceMatcher  # only a harvest needs it

    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    middle = SequenceMatcher(None, old[start : len(old) - end], new[start : len(new) - end], autojunk=False)
    parts: list[str] = []
    kept = start
    for kind, old_from, old_to, new_from, new_to in middle.get_opcodes():
        if kind == "equal":
            kept += old_to - old_from
        else:
            parts.append(f"{kept}.{old_to - old_from}-{','.join(new[start + new_from : start + new_to])}")
            kept = 0
    return ";".join([*parts, str(kept + end)])


@dataclass(frozen=True, slots=True)
class Content:
    """One content of a file: its marks, in the order of their lines, and the releases that have it."""

    releases: str
    gaps: list[int]
    """Lines since the mark before."""
    digits: list[str]

    @property
    def lines(self) -> list[int]:
        return list(accumulate(self.gaps))


def decode(history: Iterable[str]) -> list[Content]:
    """The contents of a file. Raises ValueError on damaged text."""
    return [
        Content(releases, list(gaps), digits[1:].split(",") if digits else [])
        for releases, gaps, digits in _contents(history)
    ]


def distances(history: Iterable[str], wanted: Sequence[Mark]) -> Iterator[tuple[str, list[int | None]]]:
    """For each content of a file its releases and, for each wanted mark, how far from its line the nearest line
    with its hash is; None where there is none."""
    for releases, gaps, digits in _contents(history):
        yield releases, [_away(gaps, digits, line, f",{sought}") for line, sought in wanted]


def _away(gaps: list[int], digits: str, line: int, sought: str) -> int | None:
    nearest: int | None = None
    place = digits.find(sought)
    while place >= 0:
        away = abs(sum(gaps[: place // _WIDTH + 1]) - line)
        if nearest is None or away < nearest:
            nearest = away
        place = digits.find(sought, place + _WIDTH)
    return nearest


_WIDTH = 4
"""What a mark takes in a text of hashes: a comma and its three digits."""


def _contents(history: Iterable[str]) -> Iterator[tuple[str, list[int], str]]:
    """For each content its releases, the lines between its marks, and their hashes in one text.

    The list is one and the same, changed from content to content: most of a file stays.
    """
    gaps: list[int] = []
    digits = ""
    for text in history:
        releases, _, change = text.partition("\t")
        try:
            if change.startswith("="):
                gaps, digits = _read(change[1:])
            else:
                digits = _changed(gaps, digits, change)
        except ValueError:
            raise ValueError(f"no change of a line history: {change[:40]}") from None
        yield releases, gaps, digits


def _read(tokens: str) -> tuple[list[int], str]:
    marks = tokens.split(",") if tokens else []
    return [int(mark[:-3]) for mark in marks], "".join([f",{mark[-3:]}" for mark in marks])


def _changed(gaps: list[int], digits: str, change: str) -> str:
    """Changes the list, and returns the text that goes with it."""
    pieces: list[str] = []
    position = read = 0
    for part in change.split(";"):
        kept, changed, rest = part.partition(".")
        position += int(kept)
        pieces.append(digits[read : read + int(kept) * _WIDTH])
        read += int(kept) * _WIDTH
        if changed:
            dropped, _, new = rest.partition("-")
            own, hashes = _read(new)
            gaps[position : position + int(dropped)] = own
            pieces.append(hashes)
            position += len(own)
            read += int(dropped) * _WIDTH
    del gaps[position:]
    return "".join(pieces)
