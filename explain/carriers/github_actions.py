"""gh run view --log: job, step and time between tabs."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import DIGITS, ISO, LETTERS
from explain.expressions import expression
from explain.model import Stripped

NAME = "github-actions"
STARTS = LETTERS + DIGITS
SAMPLES = (
    (
        "unit-test\tRun tests\t2026-11-30T08:14:58.1234567Z   File",
        (Stripped("  File", "unit-test/Run tests", "2026-11-30T08:14:58.1234567Z"),),
    ),
)

_HEAD = expression(rf"([^\t\n]{{1,200}})\t([^\t\n]{{1,200}})\t\ufeff?({ISO})(?: |$)")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    if line.find("\t", 0, 201) < 0:
        return None
    found = _HEAD.match(line)
    return None if found is None else [Stripped(line[found.end() :], f"{found[1]}/{found[2]}", found[3])]
