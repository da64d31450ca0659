"""Where the lines of a file that can stand in a traceback were, release by release, in little space.

A mark is a line that calls, raises, asserts or imports: its number and twelve bits of its text's hash. A
file's history is text: a line for each distinct content with its releases, the first in full, each later
one as what changed. So a traceback's file, line number and code line tell which releases they fit.

    0.5.1..0.5.2<TAB>=3a1f,1b07,…      all marks: lines since the mark before, then three hex digits
    0.5.3<TAB>120.2-1b07,4c11.88       keep 120, drop 2 and put these in their place, keep 88
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

Mark = tuple[int, str]
"""Line number, three hex digits."""
CHANGE = re.compile(r"(\d+)(?:\.(\d+)-([0-9a-f,]*))?")


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
    lines: list[int]
    digits: list[str]

    def away(self, line: int, digits: str) -> int | None:
        """How far from `line` the nearest line with this hash is; None where there is none."""
        place = bisect_left(self.lines, line)
        if place < len(self.lines) and self.lines[place] == line and self.digits[place] == digits:
            return 0
        places = (at for at, known in zip(self.lines, self.digits, strict=True) if known == digits)
        return min((abs(at - line) for at in places), default=None)


def decode(history: Iterable[str]) -> list[Content]:
    """The contents of a file. Raises ValueError on damaged text."""
    found: list[Content] = []
    gaps: list[int] = []
    digits: list[str] = []
    for text in history:
        releases, _, change = text.partition("\t")
        gaps, digits = _read(change[1:]) if change.startswith("=") else _changed(gaps, digits, change)
        found.append(Content(releases, list(accumulate(gaps)), digits))
    return found


def _read(tokens: str) -> tuple[list[int], list[str]]:
    marks = tokens.split(",") if tokens else []
    return [int(mark[:-3]) for mark in marks], [mark[-3:] for mark in marks]


def _changed(old_gaps: list[int], old_digits: list[str], change: str) -> tuple[list[int], list[str]]:
    gaps: list[int] = []
    digits: list[str] = []
    position = 0
    for part in change.split(";"):
        read = CHANGE.fullmatch(part)
        if read is None:
            raise ValueError(f"no change of a line history: {part[:40]}")
        end = position + int(read[1])
        gaps += old_gaps[position:end]
        digits += old_digits[position:end]
        position = end
        if read[2] is not None:
            position += int(read[2])
            new_gaps, new_digits = _read(read[3])
            gaps += new_gaps
            digits += new_digits
    return gaps, digits
