"""The kernel's ring buffer as dmesg prints it."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "kernel"
STARTS = "["
SAMPLES = (
    (
        "[ 1234.567890] Out of memory: Killed process 1",
        (Stripped("Out of memory: Killed process 1", "kernel", "1234.567890"),),
    ),
    (
        "[Mon Nov 30 08:14:58 2026] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
        (
            Stripped(
                "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
                "kernel",
                "Mon Nov 30 08:14:58 2026",
            ),
        ),
    ),
)

_HEAD = expression(
    r"\[ {0,7}(\d{1,8}\.\d{6}|"
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d \d{4})\] (?!\[)"
)


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    return None if found is None else [Stripped(line[found.end() :], "kernel", found[1])]
