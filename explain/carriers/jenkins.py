"""Jenkins and job runners: an ISO time in brackets, perhaps a job's name and `>>`."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import ISO
from explain.expressions import expression
from explain.model import Stripped

NAME = "jenkins"
STARTS = "["
SAMPLES = (
    ("[2026-03-01T08:00:00.123Z]   File", (Stripped("  File", "", "2026-03-01T08:00:00.123Z"),)),
    (
        "[2026-01-02T10:00:00+08:00] job-7 >> [2026-01-02 10:00:00 TP0] Hello",
        (Stripped("[2026-01-02 10:00:00 TP0] Hello", "job-7", "2026-01-02T10:00:00+08:00"),),
    ),
    ("[2026-03-01T08:00:00.123Z]", (Stripped("", "", "2026-03-01T08:00:00.123Z"),)),
)

_HEAD = expression(rf"\[({ISO})\](?: |$)(?!\{{[\w./-]+:\d+\}} )(?:([\w./-]{{1,120}}) >>(?: |$))?")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    return None if found is None else [Stripped(line[found.end() :], found[2] or "", found[1])]
