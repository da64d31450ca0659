"""Tracebacks as the library Rich draws them, turned back into Python's own form."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "rich"
STARTS = "╭│╰┌+|"
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = (
    ("╭──── Traceback (most recent call last) ────╮", (Stripped("Traceback (most recent call last):"),)),
)

_HEADER = expression(r"[╭┌+][─-]+ ?(Traceback \(most recent call last\))[^─-]{0,40}[─-]+[╮┐+]\s*$")
_FRAME = expression(r"((?:/|[A-Za-z]:\\|\.|<)[^\n]*?):(\d+) in (\S+)$")
_CODE = expression(r"❱ +\d+ (?:│|\|)(.*)$")
_OPEN = (NAME, "open")
_LOCALS = (NAME, "locals")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    if line[0] in "╭┌+":
        if "Traceback" not in line[:400] or not (found := _HEADER.match(line)):
            return None
        memory.known.add(_OPEN)
        return [Stripped(f"{found[1]}:")]
    if _OPEN not in memory.known:
        return None
    if line[0] == "╰":
        memory.known.discard(_OPEN)
        memory.known.discard(_LOCALS)
        return []
    return _inside(line[1:].rstrip().removesuffix("│").removesuffix("|").strip(), memory)


def _inside(text: str, memory: Memory) -> list[Stripped]:
    """Of a frame its place and the line that ran; neither the lines around it nor the variables."""
    if text.startswith("╭"):
        memory.known.add(_LOCALS)
    elif text.startswith("╰"):
        memory.known.discard(_LOCALS)
    elif _LOCALS not in memory.known:
        if found := _FRAME.match(text):
            return [Stripped(f'  File "{found[1]}", line {found[2]}, in {found[3]}')]
        if found := _CODE.match(text):
            return [Stripped(f"    {found[1].strip()}")]
    return []
