"""The further lines of one journald entry: journalctl indents them to where the first one's text began."""

from __future__ import annotations

from explain.carriers.journald import NAME as JOURNALD
from explain.carriers.memory import Memory
from explain.model import Stripped

NAME = "journald-more"
STARTS = " "
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = ()
_NARROWEST = 24


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    width = memory.widths.get(JOURNALD, 0)
    if memory.numbers.get(JOURNALD) == memory.number:
        return None  # the text of an entry's first line
    if width < _NARROWEST or line[:width].strip() or len(line) <= width:
        return None
    return [Stripped(line[width:], memory.keys[JOURNALD])]
