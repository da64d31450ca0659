"""The marker lines in Ray's own files of a worker; nothing a server wrote."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "ray-worker"
STARTS = ":"
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = (
    (":job_id:01000000", ()),
    (":actor_name:SGLangEngine", ()),
)

_MARKER = expression(r":(?:job_id|actor_name|task_name):[^\s:]*$")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    return [] if _MARKER.match(line) else None
