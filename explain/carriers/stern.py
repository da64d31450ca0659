"""stern: the pod's and the container's name, once a server's line proved that they are names."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import LETTERS, is_surely_a_server
from explain.expressions import expression
from explain.model import Stripped

NAME = "stern"
STARTS = LETTERS
SAMPLES = (
    (
        "sglang-0 server [2026-11-30 08:14:58] Hello",
        (Stripped("[2026-11-30 08:14:58] Hello", "sglang-0/server"),),
    ),
)

_HEAD = expression(r"([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?) ([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?: |$)")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    if not line[0].islower():
        return None
    found = _HEAD.match(line)
    if found is None:
        return None
    pod, container = found[1], found[2]
    label = f"{pod}/{container}"
    text = line[found.end() :]
    if (NAME, label) not in memory.known:
        if "-" not in pod or not is_surely_a_server(text):
            return None
        memory.known.add((NAME, label))
    return [Stripped(text, label)]
