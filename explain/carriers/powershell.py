"""Windows PowerShell 5 dresses what a program writes to stderr as an error of its own."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import LETTERS
from explain.expressions import expression
from explain.model import Stripped

NAME = "powershell"
STARTS = LETTERS + " +"
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = (
    ("python.exe : [2026-11-30 08:14:58] Hello", (Stripped("[2026-11-30 08:14:58] Hello"),)),
    ("    + CategoryInfo          : NotSpecified: (x:String) [], RemoteException", ()),
    ("    + FullyQualifiedErrorId : NativeCommandError", ()),
)

_HEAD = expression(r"(?:[A-Za-z]:\\)?[\w.\\-]{1,200}\.exe : ")
_PLACE = expression(r"(?:At|In) (?:line:\d+ char:\d+|[A-Za-z]:\\.*:\d+ char:\d+)\s*$")
_OPEN = (NAME, "open")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    if line[0] in " +":
        if line.startswith(("    + CategoryInfo ", "    + FullyQualifiedErrorId ")):
            memory.known.discard(_OPEN)
            return []
        return [] if line.startswith("+ ") and _OPEN in memory.known else None
    if line.find(".exe : ", 0, 220) > 0 and (found := _HEAD.match(line)):
        return [Stripped(line[found.end() :])]
    if line.startswith(("At ", "In ")) and _PLACE.match(line):
        memory.known.add(_OPEN)
        return []
    return None
