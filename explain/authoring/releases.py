"""Which SGLang releases can print a record's message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from explain.authoring.examples import Examiner, events_of
from explain.cache import read_cached, write_cached
from explain.catalogue import Catalogue
from explain.model import Event, Record
from explain.sites import SiteIndex

CACHE = "releases.json"
Span = tuple[str, str]
"""First and last release, as the site index names them."""


class NoSuchRelease(ValueError):
    """The site index does not know a release. `known` are those it knows, the oldest first."""

    def __init__(self, release: str, known: Sequence[str]) -> None:
        super().__init__(f"{release} is no release of the site index")
        self.release = release
        self.known = tuple(known)


def possible_in(catalogue: Catalogue, numbers: Sequence[int], release: str, sites: SiteIndex) -> list[int]:
    """The records whose message the release can print, and those that are tied to no release.

    Raises `NoSuchRelease` where the index does not know it.
    """
    order = {version: number for number, version in enumerate(sites.versions)}
    wanted = order.get(release.removeprefix("v"))
    if wanted is None:
        raise NoSuchRelease(release, sites.versions)
    spans = all_spans(catalogue, sites)

    def possible(number: int) -> bool:
        own = spans[number]
        return not own or any(order[first] <= wanted <= order[last] for first, last in own)

    return [number for number in numbers if possible(number)]


def all_spans(catalogue: Catalogue, sites: SiteIndex) -> list[list[Span]]:
    """For each record the releases of each place that prints its message; kept in the cache."""
    key = f"{catalogue.digest} {sites.digest}"
    content = read_cached(CACHE)
    if content is not None:
        known = orjson.loads(content)
        if known["key"] == key:
            return [[(first, last) for first, last in spans] for spans in known["spans"]]
    examiner = Examiner(catalogue, sites)
    found = [list(spans_of(record, examiner)) for record in catalogue]
    write_cached(CACHE, orjson.dumps({"key": key, "spans": found}))
    return found


def spans_of(record: Record, examiner: Examiner) -> Iterator[Span]:
    """First and last release of each place in SGLang that prints the record's message."""
    for event in typical_events(record):
        site = examiner.site(event)
        if site is not None:
            yield site.first_version, site.last_version


def typical_events(record: Record) -> Iterator[Event]:
    """The record's own message as an event, and those of its examples."""
    if record.error_message:
        text = record.error_message
        yield Event(
            kind="traceback" if record.error_class else "message",
            source=0,
            line=1,
            end_line=1,
            time=None,
            rank=None,
            exception=record.error_class,
            message=text,
            text=f"{record.error_class}: {text}" if record.error_class else text,
        )
    for lines in record.examples:
        yield from events_of(lines)
