"""The physical lines of a log around an event, and the carriers they came through: for `why`, which tells both."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import ModuleType

from explain.carriers import Carriers, Strip, by_first
from explain.carriers.memory import Memory
from explain.engine import Readable
from explain.model import Block, Stripped
from explain.newlines import count_newlines
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


class _Named(Carriers):
    """Takes carriers off as always and keeps their names."""

    def __init__(self) -> None:
        super().__init__(by_first(self._noting))
        self.names: dict[int, str] = {}
        """By the depth at which it was taken off, the name of a carrier."""
        self._depth = 0

    def _noting(self, carrier: ModuleType) -> Strip:
        def strip(line: str, memory: Memory) -> list[Stripped] | None:
            pieces: list[Stripped] | None = carrier.strip(line, memory)
            if pieces is not None:
                self.names = {depth: name for depth, name in self.names.items() if depth < self._depth}
                self.names[self._depth] = carrier.NAME
            return pieces

        return strip

    def _peel(
        self, text: str, key: str, time: str | None, partial: bool, repeats: int, depth: int, found: list[Stripped]
    ) -> None:
        outer, self._depth = self._depth, depth
        super()._peel(text, key, time, partial, repeats, depth, found)
        self._depth = outer


def carriers_of(lines: list[str]) -> tuple[str, ...]:
    """The names of the carriers that the last of the lines came through, the outermost first."""
    carriers = _Named()
    for line in lines:
        carriers.names.clear()
        carriers.strip(line)
    return tuple(carriers.names.values())
