"""What the catalogue knows: one record by its name or by a message, and lists of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from explain.authoring.search import search
from explain.catalogue import Catalogue
from explain.model import Record

if TYPE_CHECKING:
    from explain.sites import SiteIndex

Way = Literal["name", "prefix", "message", "words", "nothing"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The records that a name or a message means, the best first, and how they were found.

    `name`: the id or slug. `prefix`: the beginning of one or several. `message`: the records' patterns match
    it. `words`: nothing matches, these are the nearest by their words. `nothing`: not even those.
    """

    way: Way
    numbers: tuple[int, ...]

    @property
    def certain(self) -> bool:
        """Whether it is one record that was asked for, not a list to choose from."""
        return self.way in ("name", "message") or (self.way == "prefix" and len(self.numbers) == 1)


def look_up(catalogue: Catalogue, text: str) -> Answer:
    """The records meant by an id, a slug, the beginning of one, or a pasted message or traceback."""
    single = text.strip()
    if single and not any(character.isspace() for character in single):
        found = catalogue.find(single)
        if found:
            record = catalogue.record(found[0])
            exact = single.lower() in (record.id, record.slug)
            return Answer("name" if exact else "prefix", tuple(found))
    matched = matched_by(catalogue, text)
    if matched:
        return Answer("message", matched)
    hits = search(catalogue, text, 5)
    return Answer("words" if hits else "nothing", tuple(hit.number for hit in hits))


def matched_by(catalogue: Catalogue, text: str) -> tuple[int, ...]:
    """The records that match a pasted message, line or traceback, the best first.

    Reads it as a log. A message without its exception class is taken for one of any class.
    """
    # Imported here: neither names nor lists need the engine.
    from explain.authoring.examples import Examiner, events_of

    examiner = Examiner(catalogue)
    lines = text.splitlines()
    for event in events_of(lines):
        fired = examiner.fired(event)
        if fired:
            numbers = (catalogue.number(record_id) for record_id in fired)
            return tuple(number for number in numbers if number is not None)
    message = text.strip()
    present = {
        number
        for needle, caseless, number in catalogue.needles()
        if needle in (message.lower() if caseless else message)
    }
    found = [(match, number) for number in present if (match := catalogue.pattern(number).search(message))]
    found.sort(key=lambda pair: (pair[0].start() - pair[0].end(), pair[1]))
    return tuple(number for _, number in found)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records to list. Several values of one field mean any of them; fields combine."""

    areas: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    """Exception classes, compared by their last part and without regard to case."""
    release: str | None = None
    """An SGLang release; keeps records whose message that release can print, and those not tied to any."""


def list_records(catalogue: Catalogue, wanted: Filter, sites: SiteIndex | None = None) -> list[int]:
    """The numbers of the records that fit, by area and slug. `sites` is needed for a release."""
    numbers = [number for number in range(len(catalogue)) if _fits(catalogue.record(number), wanted)]
    if wanted.release is not None and sites is not None:
        from explain.authoring.releases import possible_in

        numbers = possible_in(catalogue, numbers, wanted.release, sites)
    return sorted(numbers, key=lambda number: (catalogue.area(number), catalogue.record(number).slug))


def _fits(record: Record, wanted: Filter) -> bool:
    tags = {tag.lower() for tag in record.tags}
    last = (record.error_class or "").rpartition(".")[2].lower()
    return (
        (not wanted.areas or record.area in wanted.areas)
        and (not wanted.tags or bool(tags & {tag.lower() for tag in wanted.tags}))
        and (not wanted.severities or record.severity in wanted.severities)
        and (not wanted.roles or record.role in wanted.roles)
        and (not wanted.classes or last in {name.rpartition(".")[2].lower() for name in wanted.classes})
    )


def related(catalogue: Catalogue, number: int, most: int = 5) -> list[int]:
    """Other records worth reading with this one: those either names in `also`, then the most alike."""
    record = catalogue.record(number)
    own = {record.id, record.slug}
    tags, background = set(record.tags) - {"sglang"}, record.raw.get("backgroundTag")
    scored: list[tuple[float, int]] = []
    for other in range(len(catalogue)):
        if other == number:
            continue
        candidate = catalogue.record(other)
        score = 0.0
        if {candidate.id, candidate.slug} & set(record.also) or own & set(candidate.also):
            score += 100
        shared = len(tags & set(candidate.tags))
        score += 2 * shared / (1 + abs(len(tags) - len(candidate.tags)) / 4)
        if background and background == candidate.raw.get("backgroundTag"):
            score += 2
        if record.area and record.area == candidate.area:
            score += 1
        if score >= 3:
            scored.append((-score, other))
    return [other for _, other in sorted(scored)[:most]]


def names_of(catalogue: Catalogue, numbers: Sequence[int]) -> list[str]:
    return [catalogue.record(number).slug for number in numbers]
