"""kubectl logs --prefix: the pod and the container in brackets."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "kubectl"
STARTS = "["
SAMPLES = (
    (
        "[pod/sglang-0/server] [2026-11-30 08:16:10] Hello",
        (Stripped("[2026-11-30 08:16:10] Hello", "sglang-0/server"),),
    ),
    ("[pod/sglang-0/server]   File", (Stripped("  File", "sglang-0/server"),)),
    ("[pod/sglang-0/server]", (Stripped("", "sglang-0/server"),)),
)

_HEAD = expression(r"\[pod/([\w.-]+/[\w.-]+)\](?: |$)")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    return None if found is None else [Stripped(line[found.end() :], found[1])]
