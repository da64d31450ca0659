"""docker compose: the service's name, blanks up to the longest name, a bar."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import LETTERS
from explain.expressions import expression
from explain.model import Stripped

NAME = "compose"
STARTS = LETTERS
SAMPLES = (
    (
        "sglang-1  | [2026-11-30 08:14:58 TP3] Hello",
        (Stripped("[2026-11-30 08:14:58 TP3] Hello", "sglang-1"),),
    ),
    ('sglang_1 |   File "a.py", line 1, in f', (Stripped('  File "a.py", line 1, in f', "sglang_1"),)),
    ("sglang-1  |", (Stripped("", "sglang-1"),)),
)

# One blank before the bar is enough only behind a container's number: `a | b` is also code.
_HEAD = expression(r"([A-Za-z][\w.-]*?[-_]\d+ *|[A-Za-z][\w.-]* {2,}|[A-Za-z][\w.-]* )\|(?: |$)")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    if line.find("|", 1, 120) < 0:
        return None
    found = _HEAD.match(line)
    if found is None:
        return None
    padded = found[1]
    name = padded.rstrip()
    if len(padded) - len(name) == 1 and not name[-1].isdigit() and (NAME, name) not in memory.known:
        return None
    if len(padded) - len(name) == 0:
        return None
    memory.known.add((NAME, name))
    return [Stripped(line[found.end() :], name)]
