"""SkyPilot: the node, its rank and the process id in parentheses."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "skypilot"
STARTS = "("
SAMPLES = (
    ("(head, rank=0, pid=8292) Traceback", (Stripped("Traceback", "head rank=0 pid=8292"),)),
    ("(task, pid=12)   File", (Stripped("  File", "task pid=12"),)),
    ("(worker1, rank=1, pid=7, ip=10.0.0.3)", (Stripped("", "worker1 rank=1 pid=7"),)),
)

_HEAD = expression(r"\(([\w.-]{1,100})(?:, (rank=\d+))?, (pid=\d+)(?:, ip=[\w.:]+)?\)(?: |$)")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    if found is None:
        return None
    return [Stripped(line[found.end() :], " ".join(filter(None, found.groups())))]
