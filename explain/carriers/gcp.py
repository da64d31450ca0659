"""Google Cloud's text form: severity and time. Whatever goes to stderr is an ERROR there."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import ISO
from explain.expressions import expression
from explain.model import Stripped

NAME = "gcp"
STARTS = "DINWECA"
SAMPLES = (
    (
        "ERROR 2026-03-01T08:00:00.123456789Z [2026-03-01 08:00:00 TP0] Hello",
        (Stripped("[2026-03-01 08:00:00 TP0] Hello", "", "2026-03-01T08:00:00.123456789Z"),),
    ),
    ("DEFAULT 2026-03-01T08:00:00.1Z   File", (Stripped("  File", "", "2026-03-01T08:00:00.1Z"),)),
)

_HEAD = expression(
    rf"(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL|ALERT|EMERGENCY) ({ISO})"
    r"(?: |$)(?:\[resource\.labels[^\]]*\] )?"
)


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    return None if found is None else [Stripped(line[found.end() :], "", found[1])]
