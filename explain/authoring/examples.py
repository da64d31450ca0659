"""An example's lines as events, read by the engine's own parts, and what its matcher says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from explain.carriers import Carriers
from explain.catalogue import Catalogue
from explain.events import Assembler
from explain.matcher import Matcher
from explain.model import Event, Line, SiteInfo, Stripped
from explain.sites import SiteIndex


def events_of(lines: Sequence[str]) -> tuple[Event, ...]:
    """The events of a short log, its carriers stripped, in the order in which they close."""
    assembler = Assembler(0)
    events: list[Event] = []
    for number, stripped in stripped_lines(lines):
        for text in stripped.text.split("\n"):
            line = Line(number, text, stripped.key, stripped.time, stripped.repeats)
            events += assembler.feed(line)
    events += assembler.close()
    return tuple(events)


def stripped_lines(lines: Sequence[str]) -> Iterator[tuple[int, Stripped]]:
    """What the carriers left of each line, with the line's number from 1."""
    carriers = Carriers()
    for number, text in enumerate("\n".join(lines).split("\n"), 1):
        for stripped in carriers.strip(text):
            yield number, stripped


def plain_lines(lines: Sequence[str]) -> list[str]:
    """The lines as the program wrote them."""
    return [line for _, stripped in stripped_lines(lines) for line in stripped.text.split("\n")]


class Examiner:
    """Asks the engine's matcher which records fire on an event, and which place in SGLang prints it."""

    def __init__(self, catalogue: Catalogue, sites: SiteIndex | None = None) -> None:
        self._matcher = Matcher(catalogue, sites)

    def fired(self, event: Event) -> tuple[str, ...]:
        """The ids of all records that match, the best first."""
        match = self._matcher.match(event)
        return () if match.record is None else (match.record.id, *match.also)

    def site(self, event: Event) -> SiteInfo | None:
        return self._matcher.match(event).site
