"""Rows of a log viewer's table, copied as text: empty cells, a time, the line, bars between them."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "table"
STARTS = " |2-"
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = (
    (
        "  |   | 2026-11-30 08:14:58.902 | ValueError: x |  ",
        (Stripped("ValueError: x", time="2026-11-30 08:14:58.902"),),
    ),
    (
        '2026-11-30 08:14:58 | File "a.py", line 3, in f |  ',
        (Stripped('File "a.py", line 3, in f', time="2026-11-30 08:14:58"),),
    ),
    ("-- | -- | --", ()),
)

# A level behind the time is another carrier's (`fastchat`), whose lines may end with a bar of their own.
_ROW = expression(
    r"(?:\s{0,8}\|){0,4}\s{0,8}(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?) \| "
    r"(?!(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) *\| )(?P<text>.*) \|\s{0,8}$"
)
_RULE = expression(r"-{2,}(?: \| -{2,})+\s*$")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    if " | " not in line:
        return None
    if line[0] == "-":
        return [] if _RULE.match(line) else None
    found = _ROW.match(line)
    return [Stripped(found["text"].rstrip(), time=found["time"])] if found else None
