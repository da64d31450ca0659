"""torch's exception hook: the rank before every line of a traceback. (`[rank0]:[E…` is torch's own log.)"""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "rank"
STARTS = "["
SAMPLES = (
    (
        "[rank0]: Traceback (most recent call last):",
        (Stripped("Traceback (most recent call last):", "rank0"),),
    ),
    ("[rank12]:   File", (Stripped("  File", "rank12"),)),
    ("[rank12]:", (Stripped("", "rank12"),)),
)

_HEAD = expression(r"\[(rank\d{1,5})\]:(?: |$)")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    return None if found is None else [Stripped(line[found.end() :], found[1])]
