"""Tables of log stores as CSV: a time, a comma, the line, quoted where it must be."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import DIGITS
from explain.expressions import expression
from explain.model import Stripped

NAME = "csv"
STARTS = DIGITS + '"'
SAMPLES = (
    (
        '2026-11-30 08:14:58.123,"[2026-11-30 08:14:58] Hello, ""you"""',
        (Stripped('[2026-11-30 08:14:58] Hello, "you"', "", "2026-11-30 08:14:58.123"),),
    ),
    (
        '"2026-11-30T08:14:58.123Z",ValueError: x',
        (Stripped("ValueError: x", "", "2026-11-30T08:14:58.123Z"),),
    ),
)

_OPEN = (NAME, "open")
# A comma and three digits behind the seconds is Python's way to print milliseconds.
_HEAD = expression(
    r'(?P<quote>"?)(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)'
    r"(?P=quote),(?!\d{3}[ :\]|])"
)


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    if found is None:
        return None
    text = line[found.end() :]
    if text.startswith('"'):
        text = text[1:]
        memory.known.add(_OPEN)
        text = continued(text, memory)
    return [Stripped(text, "", found["time"])]


def continued(text: str, memory: Memory) -> str:
    """A line inside a quoted field, which may hold many: doubled quotes are one, a single one ends it."""
    if _OPEN not in memory.known:
        return text
    if len(text) - len(text.rstrip('"')) & 1:
        text = text[:-1]
        memory.known.discard(_OPEN)
    return text.replace('""', '"')
