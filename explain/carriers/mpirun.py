"""mpirun --tag-output: job, rank and stream; newer releases put a blank behind the colon.

With --timestamp-output the time, as `ctime` writes it, stands before that without a blank.
"""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "mpirun"
STARTS = "[MTWFS"
SAMPLES = (
    ("[1,6]<stderr>:[2026-11-30 08:14:58] Hello", (Stripped("[2026-11-30 08:14:58] Hello", "6 stderr"),)),
    ("[1,6]<stderr>:  File", (Stripped("  File", "6 stderr"),)),
    ("[prterun-node-1@1,0]<stdout>: Hello", (Stripped("Hello", "0 stdout"),)),
    (
        "Mon Nov 30 08:14:58 2026[1,6]<stderr>:[2026-11-30 08:14:58] Hello",
        (Stripped("[2026-11-30 08:14:58] Hello", "6 stderr"),),
    ),
)

_HEAD = expression(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})?"
    r"\[(?:(?:\w[\w.-]{0,100}(@))?\d+,)?(\d+)\]<(stdout|stderr|stddiag)>:"
)


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    if found is None:
        return None
    text = line[found.end() :]
    if found[1] and text[:1] == " ":
        text = text[1:]
    return [Stripped(text, f"{found[2]} {found[3]}")]
