"""srun --label: the task's number, once a server's line proved it. (`3: ` also begins ordinary lines.)"""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import DIGITS, is_surely_a_server
from explain.expressions import expression
from explain.model import Stripped

NAME = "srun"
STARTS = DIGITS + " "
SAMPLES = (
    (" 3: [2026-11-30 08:14:58 TP3] Hello", (Stripped("[2026-11-30 08:14:58 TP3] Hello", "task 3"),)),
    ("12: Traceback (most recent call last):", (Stripped("Traceback (most recent call last):", "task 12"),)),
)

_HEAD = expression(r" {0,5}(\d{1,6}):(?: |$)")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    if found is None:
        return None
    text = line[found.end() :]
    if memory.numbers.get(NAME) == memory.number:
        return None  # the task's own text
    if (NAME, "") not in memory.known:
        if not is_surely_a_server(text):
            return None
        memory.known.add((NAME, ""))
    memory.numbers[NAME] = memory.number
    return [Stripped(text, f"task {found[1]}")]
