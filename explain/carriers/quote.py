"""`> ` before quoted lines, as mail and issue trackers have it."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import is_surely_a_server
from explain.model import Stripped

NAME = "quote"
STARTS = ">"
SAMPLES = (
    ("> [2025-11-06 03:05:21] Hello", (Stripped("[2025-11-06 03:05:21] Hello"),)),
    (">   File", (Stripped("  File"),)),
    (">[2025-11-06 03:05:21] Hello", (Stripped("[2025-11-06 03:05:21] Hello"),)),
    (">", (Stripped(""),)),
)


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    if line == ">":
        return [Stripped("")]
    if line.startswith("> "):
        return [Stripped(line[2:])]
    # Without a blank it may be an operator: a quote only where a server's line stands behind it.
    return [Stripped(line[1:])] if is_surely_a_server(line[1:]) else None
