"""torchrun: the role and the local rank, without a blank behind them."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "torchelastic"
STARTS = "["
SAMPLES = (
    ("[default0]:[2026-11-30 08:14:58] Hello", (Stripped("[2026-11-30 08:14:58] Hello", "default0"),)),
    ("[default0]:  File", (Stripped("  File", "default0"),)),
    ("[trainer3]:", (Stripped("", "trainer3"),)),
)

_HEAD = expression(r"\[((?:default|trainer|worker|server|node|role|engine|actor|sglang)\d{1,5})\]:")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    return None if found is None else [Stripped(line[found.end() :], found[1])]
