"""Where the lines of a file that can stand in a traceback were, release by release, in little space.

A mark is a line that calls, raises, asserts or imports: its number and twelve bits of its text's hash. A
file's history is text: a line for each distinct content with its releases, the first in full, each later
one as what changed. So a traceback's file, line number and code line tell which releases they fit.

    0.5.1..0.5.2<TAB>=3a1f,1b07,…      all marks: lines since the mark before, then three hex digits
    0.5.3<TAB>120.2-1b07,4c11.88       keep 120, drop 2 and put these in their place, keep 88
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    found: list[Content] = []
    before: list[tuple[int, str]] = []
    for text in history:
        releases, parts = change_of(text)
        marks: list[tuple[int, str]] = []
        position = 0
        for kept, dropped, came in parts:
            marks += before[position : position + kept]
            marks += came
            position += kept + dropped
        found.append(Content(releases, [gap for gap, _ in marks], [digits for _, digits in marks]))
        before = marks
    return found


Part = tuple[int, int, list[tuple[int, str]]]
"""How many marks are kept, how many behind them are dropped, and what stands in their place."""


def change_of(text: str) -> tuple[str, list[Part]]:
    """A line of a history: the releases, and what changed from the content before, to nothing at first. Raises
    ValueError on damaged text."""
    releases, _, change = text.partition("\t")
    parts: list[Part] = []
    try:
        if change.startswith("="):
            return releases, [(0, 0, _marks(change[1:]))]
        for part in change.split(";"):
            kept, _, rest = part.partition(".")
            dropped, _, came = rest.partition("-")
            parts.append((int(kept), int(dropped or 0), _marks(came)))
    except ValueError:
        raise ValueError(f"no change of a line history: {change[:40]}") from None
    return releases, parts


def _marks(tokens: str) -> list[tuple[int, str]]:
    return [(int(mark[:-3]), mark[-3:]) for mark in tokens.split(",")] if tokens else []
