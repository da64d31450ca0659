"""mpirun --tag-output: job, rank and stream; newer releases put a blank behind the colon."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "mpirun"
STARTS = "["
SAMPLES = (
    ("[1,6]<stderr>:[2026-11-30 08:14:58] Hello", (Stripped("[2026-11-30 08:14:58] Hello", "6 stderr"),)),
    ("[1,6]<stderr>:  File", (Stripped("  File", "6 stderr"),)),
    ("[prterun-node-1@1,0]<stdout>: Hello", (Stripped("Hello", "0 stdout"),)),
)

_HEAD = expression(r"\[(?:(?:\w[\w.-]{0,100}(@))?\d+,)?(\d+)\]<(stdout|stderr|stddiag)>:")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    if found is None:
        return None
    text = line[found.end() :]
    if found[1] and text[:1] == " ":
        text = text[1:]
    return [Stripped(text, f"{found[2]} {found[3]}")]
