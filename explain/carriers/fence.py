"""Markdown around a paste: fences, and a single backtick before the first line and behind the last."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import is_surely_a_server
from explain.model import Stripped

NAME = "fence"
STARTS = "`"
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = (
    ("`Traceback (most recent call last):", (Stripped("Traceback (most recent call last):"),)),
    ("```[2026-11-30 08:14:58] Hello", (Stripped("[2026-11-30 08:14:58] Hello"),)),
    ("```python", (Stripped(""),)),
)


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    text = line.lstrip("`")
    marks = len(line) - len(text)
    if marks >= 3:
        text = text.rstrip("`").rstrip()
        return [Stripped("" if text.isalnum() or not text else text)]
    if marks == 1 and "`" not in text and is_surely_a_server(text):
        memory.known.add((NAME, memory.stream))
        return [Stripped(text)]
    return None


def without_last_mark(text: str, memory: Memory) -> str:
    """`text` without the backtick that closes a paste which one opened."""
    if text.endswith("`") and text.count("`") == 1 and (NAME, memory.stream) in memory.known:
        memory.known.discard((NAME, memory.stream))
        return text[:-1]
    return text
