"""All records under some paths, read for checking, with what several checks need worked out once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from explain.authoring.examples import Examiner, events_of
from explain.authoring.names import Names
from explain.catalogue import CHECKOUT, Catalogue
from explain.model import Event, Problem, Record, reason_of
from explain.needles import Needle
from explain.packing import needles_of
from explain.pattern import Pattern, compile_error
from explain.record import read_records
from explain.recordfiles import RecordFile, record_files
from explain.sites import SiteIndex

SentencesOf = Callable[[Record], Iterable[tuple[str, str]]]


class Entry:
    """One record with what the checks need of it. `problems` collects what they find."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.problems: list[Problem] = []

    @cached_property
    def pattern(self) -> Pattern | None:
        """The pattern, None where it does not compile."""
        return None if compile_error(self.record.pattern) else Pattern(self.record.pattern)

    @cached_property
    def needles(self) -> tuple[Needle, ...]:
        return needles_of(self.record)

    @cached_property
    def events(self) -> tuple[tuple[Event, ...], ...]:
        """The events of each example."""
        return tuple(events_of(lines) for lines in self.record.examples)

    def says(self, pointer: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self.record.source, pointer, message, hint))


@dataclass(slots=True)
class Fire:
    """A record that matches an example of another one."""

    example_of: Entry
    example: int
    record: Entry


@dataclass
class Book:
    """Every record of a catalogue. `chosen` are to be checked; the others are what they are compared with."""

    entries: list[Entry]
    chosen: list[Entry]
    problems: list[Problem]
    catalogue: Catalogue
    healthy: tuple[Event, ...] = ()
    _named: dict[str, list[Entry]] = field(default_factory=dict)
    _sentences: dict[str, list[tuple[Entry, str]]] | None = None

    def named(self, name: str) -> list[Entry]:
        """All entries with this id or slug."""
        if not self._named:
            for entry in self.entries:
                for key in {entry.record.id, entry.record.slug}:
                    self._named.setdefault(key, []).append(entry)
        return self._named.get(name, [])

    def sentences(self, sentences_of: SentencesOf) -> Mapping[str, list[tuple[Entry, str]]]:
        """For each sentence of the records the entries that have it, and where."""
        if self._sentences is None:
            self._sentences = defaultdict(list)
            for entry in self.entries:
                for pointer, sentence in sentences_of(entry.record):
                    self._sentences[sentence].append((entry, pointer))
        return self._sentences

    @cached_property
    def examiner(self) -> Examiner:
        return Examiner(self.catalogue, SiteIndex.load())

    @cached_property
    def names(self) -> Names:
        return Names.load()

    def fired(self, event: Event) -> list[Entry]:
        """The entries whose records match an event, the best first."""
        return [entry for record_id in self.examiner.fired(event) for entry in self.named(record_id)]

    @cached_property
    def healthy_fires(self) -> Mapping[int, list[Event]]:
        """By `id(entry)`, the healthy events that an entry matches."""
        fires: dict[int, list[Event]] = defaultdict(list)
        for event in self.healthy:
            for entry in self.fired(event):
                fires[id(entry)].append(event)
        return fires

    @cached_property
    def fires(self) -> Mapping[int, list[Fire]]:
        """The cross-fire matrix: by `id(entry)`, each fire a chosen entry is one of the two sides of."""
        fires: dict[int, list[Fire]] = defaultdict(list)
        chosen = set(map(id, self.chosen))
        for entry in self.entries:
            if id(entry) not in chosen and not self._may_fire(entry):
                continue
            for number, events in enumerate(entry.events):
                others = {id(other): other for event in events for other in self.fired(event)}
                for other in others.values():
                    if other is not entry:
                        fire = Fire(entry, number, other)
                        fires[id(entry)].append(fire)
                        fires[id(other)].append(fire)
        return fires

    def _may_fire(self, entry: Entry) -> bool:
        """Whether a chosen record could match an example of the entry; false only where none can."""
        if any(not one.needles for one in self.chosen):
            return True
        text = "\n".join(line for lines in entry.record.examples for line in lines)
        lower = text.lower()
        return any(needle.text in (lower if needle.caseless else text) for one in self.chosen for needle in one.needles)


def read_book(chosen: Sequence[Path], healthy: Sequence[Path] = ()) -> Book:
    """The records under `chosen`, to be checked, and all shipped ones, to compare them with.

    `healthy` are logs in which no record of a failure may match. Files that vanish meanwhile are skipped.
    """
    problems: list[Problem] = []
    files = record_files(chosen, problems)
    known = {Path(file.path).resolve() for file in files}
    selected: list[Entry] = []
    for file in files:
        records, found = _read(file)
        selected += map(Entry, records)
        problems += found
    shipped = Path(CHECKOUT).resolve()
    outside = [path for path in chosen if path.exists() and not path.resolve().is_relative_to(shipped)]
    catalogue = Catalogue.load(outside)
    rest = [Entry(one) for one in Catalogue.load() if (shipped.parent / one.source).resolve() not in known]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in healthy if path.is_file()]
    events = tuple(event for text in texts for event in events_of(text.splitlines()))
    return Book([*selected, *rest], selected, problems, catalogue, events)


def _read(file: RecordFile) -> tuple[list[Record], list[Problem]]:
    try:
        path = Path(file.path)
        return read_records(Path(file.name), path.read_bytes(), path.resolve().parent.name)
    except OSError as error:
        return [], [Problem(file.name, "", f"cannot be read: {reason_of(error)}")]
