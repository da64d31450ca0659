"""What many tests need: a shared matcher, inputs made of text, and readable event lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from explain.carriers import Carriers
from explain.catalogue import Catalogue
from explain.engine import explain_sources
from explain.events import Assembler
from explain.matcher import Matcher
from explain.model import Block, Event, Line, Report
from explain.sites import SiteIndex
from explain.sources import Input


class Text:
    """An input made of bytes, handed out in pieces of the given sizes (repeated), as `sources` would."""

    def __init__(self, data: bytes | str, name: str = "log", sizes: Sequence[int] = (), number: int = 0) -> None:
        self.name = name
        self._data = data.encode() if isinstance(data, str) else data
        self._sizes = sizes
        self._number = number

    def blocks(self) -> Iterator[Block]:
        yield from Input(self.name, self._number, _Pieces(self._data, self._sizes)).blocks()  # type: ignore[arg-type]


class _Pieces:
    def __init__(self, data: bytes, sizes: Sequence[int]) -> None:
        self._data, self._sizes, self._reads, self._position = data, list(sizes), 0, 0

    def read(self, size: int = -1) -> bytes:
        wanted = self._sizes[self._reads % len(self._sizes)] if self._sizes else size
        self._reads += 1
        piece = self._data[self._position : self._position + max(min(wanted, size), 1)]
        self._position += len(piece)
        return piece


@cache
def matcher() -> Matcher:
    """One matcher with the shipped catalogue and site index for the whole test run."""
    return Matcher(Catalogue.load(), SiteIndex.load())


def explain_text(
    *texts: str | bytes, sizes: Sequence[int] = (), head: int | None = None, names: Sequence[str] = ()
) -> Report:
    inputs = [
        Text(text, names[number] if names else f"log{number or ''}", sizes, number) for number, text in enumerate(texts)
    ]
    options = {} if head is None else {"head": head}
    shared = matcher()
    return explain_sources(inputs, shared.catalogue, shared.sites, matcher=shared, **options)


def events_of(text: str) -> list[Event]:
    """All events of a text, known or not, without matching."""
    assembler, carriers = Assembler(0), Carriers()
    found: list[Event] = []
    for number, raw in enumerate(text.split("\n"), 1):
        for one in carriers.strip(raw):
            for part in one.text.split("\n"):
                found.extend(assembler.feed(Line(number, part, one.key, one.time, one.repeats)))
    found.extend(assembler.close())
    return found


def summary(report: Report) -> list[tuple[object, ...]]:
    """What must not change when only the way of the bytes changes: no places, no times."""
    return [
        (
            finding.role,
            finding.exception,
            finding.message,
            finding.record.slug if finding.record else None,
            finding.site.id if finding.site else None,
            finding.count,
            finding.ranks,
        )
        for finding in report.findings
    ]
