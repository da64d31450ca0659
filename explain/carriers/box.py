"""Frames that terminals draw: tmux, k9s and other text interfaces."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.model import Stripped

NAME = "box"
STARTS = "│┃║|┌└├╭╰╔╚┏┗"
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = (
    ("│ [2026-11-30 08:14:58 TP0] Hello   │", (Stripped("[2026-11-30 08:14:58 TP0] Hello"),)),
    ("│   File                            │", (Stripped("  File"),)),
    ("│                                   │", (Stripped(""),)),
    ("| ValueError: x   |", (Stripped("ValueError: x"),)),
    ("┌──────┐", ()),
)

_SIDES = "│┃║"
_CORNERS = frozenset("┌┐└┘├┤╭╮╰╯╔╗╚╝┏┓┗┛─━═┬┴┼ ")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    first = line[0]
    if first == "|":  # an ordinary character: only a closed frame counts
        text = line.rstrip()
        if not (text.startswith("| ") and text.endswith(" |") and len(text) > 3):
            return None
        return [Stripped(text[2:-1].rstrip())]
    if first in _SIDES:
        text = line[2:] if line[1:2] == " " else line[1:]
        text = text.rstrip()
        if text and text[-1] in _SIDES:
            text = text[:-1].rstrip()
        return [Stripped(text)]
    return [] if len(line) > 2 and _CORNERS.issuperset(line[:400]) else None
