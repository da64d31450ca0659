"""Files that a container runtime of Kubernetes writes: time, stream, whole or part, text."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import DIGITS, ISO
from explain.expressions import expression
from explain.model import Stripped

NAME = "cri"
STARTS = DIGITS
SAMPLES = (
    (
        "2026-11-30T08:14:58.123456789Z stderr F [2026-11-30 08:14:58] Hello",
        (Stripped("[2026-11-30 08:14:58] Hello", "stderr", "2026-11-30T08:14:58.123456789Z"),),
    ),
    (
        "2025-07-24T01:02:03.000000004+08:00 stdout P Runtime",
        (Stripped("Runtime", "stdout", "2025-07-24T01:02:03.000000004+08:00", partial=True),),
    ),
    ("2026-11-30T08:14:58.1Z stdout F", (Stripped("", "stdout", "2026-11-30T08:14:58.1Z"),)),
)

_HEAD = expression(rf"({ISO}) (stdout|stderr) ([FP])(?::\S*)?(?: |$)")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    if found is None:
        return None
    return [Stripped(line[found.end() :], found[2], found[1], partial=found[3] == "P")]
