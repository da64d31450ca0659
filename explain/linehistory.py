"""Where the lines of a file that can stand in a traceback were, release by release, in little space.

A mark is a line that calls, raises, asserts or imports: its number and twelve bits of its text's hash. A
file's history is text: a line for each distinct content with its releases, the first in full, each later
one as what changed. So a traceback's file, line number and code line tell which releases they fit.

    0.5.1..0.5.2<TAB>=3a1f,1b07,…      all marks: lines since the mark before, then three hex digits
    0.5.3<TAB>120.2-1b07,4c11.88       keep 120, drop 2 and put these in their place, keep 88
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
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

    def away(self, line: int, digits: str) -> int | None:
        """How far from `line` the nearest line with this hash is; None where there is none."""
        nearest: int | None = None
        place = -1
        for _ in range(self.digits.count(digits)):
            place = self.digits.index(digits, place + 1)
            away = abs(sum(self.gaps[: place + 1]) - line)
            if nearest is None or away < nearest:
                nearest = away
        return nearest


def decode(history: Iterable[str]) -> list[Content]:
    """The contents of a file. Raises ValueError on damaged text."""
    found: list[Content] = []
    gaps: list[int] = []
    digits: list[str] = []
    for text in history:
        releases, _, change = text.partition("\t")
        gaps, digits = _read(change[1:]) if change.startswith("=") else _changed(gaps, digits, change)
        found.append(Content(releases, gaps, digits))
    return found


def _read(tokens: str) -> tuple[list[int], list[str]]:
    marks = tokens.split(",") if tokens else []
    return [int(mark[:-3]) for mark in marks], [mark[-3:] for mark in marks]


def _changed(old_gaps: list[int], old_digits: list[str], change: str) -> tuple[list[int], list[str]]:
    gaps: list[int] = []
    digits: list[str] = []
    position = 0
    try:
        for part in change.split(";"):
            kept, changed, rest = part.partition(".")
            end = position + int(kept)
            gaps += old_gaps[position:end]
            digits += old_digits[position:end]
            position = end
            if changed:
                dropped, _, new = rest.partition("-")
                position += int(dropped)
                for mark in new.split(",") if new else ():
                    gaps.append(int(mark[:-3]))
                    digits.append(mark[-3:])
    except ValueError:
        raise ValueError(f"no change of a line history: {change[:40]}") from None
    return gaps, digits
