"""FastChat: time, level and stream before every line of a worker's output. The level is the stream's."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import DIGITS
from explain.expressions import expression
from explain.model import Stripped

NAME = "fastchat"
STARTS = DIGITS
SAMPLES = (
    (
        "2024-05-24 01:02:03 | ERROR | stderr | Traceback (most recent call last):",
        (Stripped("Traceback (most recent call last):", "stderr", "2024-05-24 01:02:03"),),
    ),
    (
        "2024-05-24 01:02:03 | ERROR | stderr |   File",
        (Stripped("  File", "stderr", "2024-05-24 01:02:03"),),
    ),
    ("2024-05-24 01:02:03 | INFO | stdout |", (Stripped("", "stdout", "2024-05-24 01:02:03"),)),
)

_HEAD = expression(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?) \| [A-Z]+ +\| (stderr|stdout) \|(?: |$)")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    return None if found is None else [Stripped(line[found.end() :], found[2], found[1])]
