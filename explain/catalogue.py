"""All known errors: finds, loads and indexes records. A record is parsed only when something asks for it.

The shipped records come from the pack inside the package, or, in a checkout, from the `patterns/` folder
beside it by way of the cache; both give the same catalogue. A user's records are read the same way.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from explain.digest import digest_of
from explain.mapped import mapped
from explain.model import Problem, Record
from explain.pack import Index, Pack, cached_pack, load_pack
from explain.pattern import Pattern
from explain.recordfiles import record_files

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = os.path.dirname(os.path.realpath(__file__))
SHIPPED = os.path.join(PACKAGE, "_data", "catalogue.pack")
CHECKOUT = os.path.join(os.path.dirname(PACKAGE), "patterns")
REMEMBERED_RECORDS = 4096


class Catalogue:
    """Records by number, 0 to `len(catalogue) - 1`, with what a scanner needs to find candidates.

    Of two records with one id the later one counts: a user's record replaces the shipped one. Records that
    cannot be used are in `problems` and nowhere else. Reading is free of side effects, so that one catalogue
    serves several threads.
    """

    def __init__(self, packs: Sequence[Pack] = (), problems: Sequence[Problem] = (), *, shipped: int = 0) -> None:
        """The first `shipped` packs came with the program; the others are the user's."""
        found = list(problems)
        self._packs = tuple(packs)
        by_id: dict[str, tuple[int, int]] = {}
        for number, pack in enumerate(self._packs):
            for row, record_id in enumerate(pack.index.ids):
                earlier = by_id.get(record_id)
                if earlier is not None and earlier[0] == number:
                    found.append(_duplicate(pack, row, earlier[1]))
                by_id[record_id] = (number, row)
            found += pack.problems()
        self._rows = list(by_id.values())
        self._numbers = {record_id: number for number, record_id in enumerate(by_id)}
        self._patterns: dict[int, Pattern] = {}
        self._shipped = shipped
        self._records: dict[int, Record] = {}
        self.problems = tuple(found)
        self.digest = _combined_digest(self._packs)
        """Changes whenever any record changes."""

    @classmethod
    def load(cls, paths: Sequence[Path] = (), *, only: bool = False) -> Catalogue:
        """The shipped records (unless `only`) and those under `paths`, files or folders.

        Never raises for what is in them: a bad record is a problem, and the others count.
        """
        problems: list[Problem] = []
        packs = [] if only else [shipped_pack(problems)]
        if paths:
            files = record_files(paths, problems)
            place = digest_of("\n".join(str(path.absolute()) for path in paths))
            packs.append(cached_pack(files, f"patterns-{place[:16]}.pack"))
        return cls(packs, problems, shipped=not only)

    @classmethod
    def of(cls, paths: Sequence[Path]) -> Catalogue:
        """The records under `paths` alone, without any cache. For tests and tools."""
        from explain.packing import build_pack

        problems: list[Problem] = []
        return cls([build_pack(record_files(paths, problems))], problems)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Record]:
        return map(self.record, range(len(self)))

    def record(self, number: int) -> Record:
        found = self._records.get(number)
        if found is None:
            pack, row = self._rows[number]
            found = self._packs[pack].record(row)
            if len(self._records) < REMEMBERED_RECORDS:
                self._records[number] = found
        return found

    def pattern(self, number: int) -> Pattern:
        """The record's pattern; one object for each number, so that it is compiled once."""
        found = self._patterns.get(number)
        if found is None:
            pack, row = self._rows[number]
            index = self._packs[pack].index
            found = self._patterns.setdefault(
                number, Pattern(index.patterns[row], index.weights[row], index.required[row])
            )
        return found

    def slow(self) -> list[Problem]:
        """The user's records whose patterns took too long on texts that were searched so far."""
        found = []
        for number, pattern in sorted(self._patterns.items()):
            pack, row = self._rows[number]
            if pattern.timeouts and pack >= self._shipped:
                index = self._packs[pack].index
                what = f"its messagePattern was too slow {pattern.timeouts} times and did not count there"
                hint = "bound its repetitions, as in [^\\n]{0,200}"
                found.append(Problem(index.sources[row], f"record {index.ids[row]}", what, hint))
        return found

    def raw(self, number: int) -> dict[str, Any]:
        """The record's JSON object, as a value of the caller's own."""
        pack, row = self._rows[number]
        value: dict[str, Any] = json.loads(self._packs[pack].raw(row))
        return value

    def area(self, number: int) -> str:
        pack, row = self._rows[number]
        return self._packs[pack].index.areas[row]

    def facts(self, number: int) -> tuple[str | None, tuple[str, ...]]:
        """The record's exception class and frames, without parsing it."""
        pack, row = self._rows[number]
        index = self._packs[pack].index
        return index.classes[row], tuple(index.frames[row])

    @cached_property
    def _needles(self) -> tuple[tuple[str, bool, int], ...]:
        found = []
        for number, (pack, row) in enumerate(self._rows):
            index = self._packs[pack].index
            found += [(text, index.caseless[row], number) for text in index.needles[row]]
        return tuple(found)

    def needles(self) -> Sequence[tuple[str, bool, int]]:
        """(literal, caseless, record number): a text that matches a record holds one of its literals."""
        return self._needles

    @cached_property
    def _without_needle(self) -> tuple[int, ...]:
        rows = enumerate(self._rows)
        return tuple(number for number, (pack, row) in rows if not self._packs[pack].index.has_needles[row])

    def without_needle(self) -> Sequence[int]:
        """The records that are reached through exception class and frames only."""
        return self._without_needle

    def number(self, record_id: str) -> int | None:
        return self._numbers.get(record_id)

    def find(self, text: str) -> list[int]:
        """The records of this id or slug, else all whose id or slug starts with the text."""
        wanted = text.strip().lower()
        if not wanted:
            return []
        if (number := self._numbers.get(wanted)) is not None:
            return [number]
        slugs = [self._packs[pack].index.slugs[row] for pack, row in self._rows]
        exact = [number for number, slug in enumerate(slugs) if slug == wanted]
        if exact:
            return exact
        return [
            number
            for number, (slug, record_id) in enumerate(zip(slugs, self._numbers, strict=True))
            if slug.startswith(wanted) or record_id.startswith(wanted)
        ]


def shipped_pack(problems: list[Problem]) -> Pack:
    """The catalogue that comes with the program, from its pack or from the checkout it runs in."""
    try:
        content = mapped(SHIPPED)
    except OSError:
        from pathlib import Path

        files = record_files([Path(CHECKOUT)], problems, base=Path(CHECKOUT).parent)
        place = digest_of(str(CHECKOUT))
        return cached_pack(files, f"shipped-{place[:16]}.pack")
    pack = load_pack(content)
    if pack is None:
        command = f"{sys.executable} -m pip install --force-reinstall sglang-explain"
        problems.append(Problem(str(SHIPPED), "", "is damaged", command))
        return Pack(Index(), b"", [], "", "")
    return pack


def _duplicate(pack: Pack, row: int, earlier: int) -> Problem:
    index = pack.index
    what = f"has the id of a record in {index.sources[earlier]}"
    return Problem(index.sources[row], f"record {index.ids[row]}", what, "the later one counts")


def _combined_digest(packs: Sequence[Pack]) -> str:
    if len(packs) == 1:
        return packs[0].digest
    return digest_of("\n".join(pack.digest for pack in packs))
