"""The physical lines of a log around an event, and the carriers they came through: for `why`, which tells both."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from explain.carriers import CARRIERS, MAX_DEPTH
from explain.carriers.memory import Memory
from explain.engine import Readable
from explain.model import Block
from explain.newlines import count_newlines
from explain.prefixes import read_prefix
from explain.values import dataclass, field

KEPT_BLOCKS = 12
"""Blocks that are kept: the reader may be so far ahead of the event that is told."""
PRIMING = 60
"""Lines before an event that are read for carriers that are believed only once some lines proved them."""
LONGEST = 16 * 1024


@dataclass(slots=True)
class Remembering:
    """An input that keeps its last blocks, and the first line with each of `needles`."""

    input: Readable
    needles: tuple[bytes, ...] = ()
    places: dict[bytes, int] = field(default_factory=dict)
    """By needle, the number of the first line that holds it."""
    _kept: deque[tuple[int, bytes]] = field(default_factory=lambda: deque(maxlen=KEPT_BLOCKS))
    _line: int = 1

    @property
    def name(self) -> str:
        return self.input.name

    def blocks(self) -> Iterator[Block]:
        for block in self.input.blocks():
            self._kept.append((self._line, block.data))
            for needle in self.needles:
                if needle not in self.places and (found := block.data.find(needle)) >= 0:
                    self.places[needle] = self._line + block.data.count(b"\n", 0, found)
            self._line += count_newlines(block.data)
            yield block

    def lines(self, last: int) -> list[str]:
        """Line `last` and those before it, as far as they are kept and needed."""
        found: list[str] = []
        for first, data in self._kept:
            texts = data[: -1 if data.endswith(b"\n") else None].split(b"\n")
            wanted = texts[max(last - PRIMING - first, 0) : max(last + 1 - first, 0)]
            found += [text[:LONGEST].decode("utf-8", "replace").removesuffix("\r") for text in wanted]
        return found


def carriers_of(lines: list[str]) -> tuple[str, ...]:
    """The names of the carriers that the last of the lines came through, the outermost first."""
    memory = Memory()
    names: tuple[str, ...] = ()
    for line in lines:
        memory.number += 1
        names = _peeled(line, memory, 0)
    return names


def _peeled(text: str, memory: Memory, depth: int) -> tuple[str, ...]:
    stamped = text[:3] == "[20" and read_prefix(text) is not None
    if not text or depth >= MAX_DEPTH or stamped:
        return ()
    for carrier in CARRIERS:
        if text[0] in carrier.STARTS and (pieces := carrier.strip(text, memory)) is not None:
            inner: tuple[str, ...] = ()
            for piece in pieces[:PRIMING]:
                inner = _peeled(piece.text.split("\n")[0], memory, depth + 1) or inner
            return (carrier.NAME, *inner)
    return ()
