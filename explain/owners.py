"""Who asked for which literal: two columns of numbers, so that twenty thousand literals load in a moment."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Sequence

from explain.cache import prune_cached, read_cached, write_cached

GROUPS = ("record", "site")
_CACHED = "owners-"
_KEPT = 8
_WIDTH = 4


class Owners:
    """For each literal, by number, the records and templates that it may lead to."""

    def __init__(self, ends: array[int], codes: array[int]) -> None:
        """`ends[literal]` is where the codes of a literal end; a code is the owner's number doubled, plus its group."""
        self._ends = ends
        self._codes = codes

    @classmethod
    def of(cls, owners: Iterable[Sequence[tuple[str, int]]]) -> Owners:
        ends, codes = array("I"), array("I")
        for asking in owners:
            codes.extend(number * 2 + GROUPS.index(group) for group, number in asking)
            ends.append(len(codes))
        return cls(ends, codes)

    def __getitem__(self, literal: int) -> list[tuple[str, int]]:
        start = self._ends[literal - 1] if literal else 0
        return [(GROUPS[code & 1], code >> 1) for code in self._codes[start : self._ends[literal]]]

    def __len__(self) -> int:
        return len(self._ends)

    def split(self, literals: Iterable[int]) -> tuple[set[int], set[int]]:
        """The records and the templates behind some literals."""
        records: set[int] = set()
        templates: set[int] = set()
        ends, codes = self._ends, self._codes
        for literal in literals:
            for code in codes[ends[literal - 1] if literal else 0 : ends[literal]]:
                (templates if code & 1 else records).add(code >> 1)
        return records, templates

    def dump(self) -> bytes:
        return len(self._ends).to_bytes(4, sys.byteorder) + self._ends.tobytes() + self._codes.tobytes()

    @classmethod
    def load(cls, content: bytes | memoryview) -> Owners | None:
        """What `dump` wrote on this machine, None for other bytes."""
        ends, codes = array("I"), array("I")
        split = 4 + int.from_bytes(content[:4], sys.byteorder) * ends.itemsize
        if len(content) < split or (len(content) - split) % codes.itemsize or ends.itemsize != _WIDTH:
            return None
        ends.frombytes(content[4:split])
        codes.frombytes(content[split:])
        return cls(ends, codes) if not ends or ends[-1] == len(codes) else None


def cached_owners(name: str, make: Callable[[], Owners]) -> Owners:
    """The table kept under a name that changes with it, made and kept where there is none."""
    content = read_cached(f"{_CACHED}{name}.bin")
    found = Owners.load(content) if content is not None else None
    if found is None:
        found = make()
        if write_cached(f"{_CACHED}{name}.bin", found.dump()):
            prune_cached(_CACHED, _KEPT)
    return found
