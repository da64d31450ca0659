"""Checks of what a record fires on, by the engine itself: its examples, near-misses, others' examples."""

from __future__ import annotations

from explain.authoring.book import Book, Entry
from explain.authoring.checks.pattern import agreement
from explain.authoring.checks.registry import check
from explain.authoring.examples import events_of
from explain.matcher import variants
from explain.model import Event
from explain.needles import Needle
from explain.roles import GENERIC


@check
def examples(entry: Entry, book: Book) -> None:
    """There are examples, and each has an event that the record matches."""
    if not entry.record.examples:
        entry.says("/examples", "has none", "at least one small realistic log")
    for index, events in enumerate(entry.events):
        if any(entry in book.fired(event) for event in events):
            continue
        entry.says(f"/examples/{index}", f"is not matched; {describe(events)}", reached_in(entry, events))


def describe(events: tuple[Event, ...]) -> str:
    """What was read out of an example, so that its writer sees why it does not match."""
    if not events:
        return "nothing in it is an event"
    shown = [f"{e.exception or e.kind}: {e.message.partition(chr(10))[0][:60]!r}" for e in events[:3]]
    return "it reads as " + "; ".join(shown)


def reached_in(entry: Entry, events: tuple[Event, ...]) -> str:
    if entry.pattern is None:
        return ""
    if any(entry.pattern.search(text) for event in events for text in variants(event)):
        return "the pattern agrees; errorClass or frames do not"
    return agreement(entry, [text for event in events for text in variants(event)])


@check
def needle_covers(entry: Entry, book: Book) -> None:
    """Every event the pattern is found in holds one of the literals the scanner looks for."""
    if entry.pattern is None or not entry.needles:
        return
    for index, events in enumerate(entry.events):
        for event in events:
            for text in variants(event):
                found = entry.pattern.search(text)
                if found and not any(holds(found[0], needle) for needle in entry.needles):
                    entry.says(f"/examples/{index}", f"matches without a needle: {found[0][:60]!r}")


def holds(text: str, needle: Needle) -> bool:
    return needle.text in (text.lower() if needle.caseless else text)


@check
def near_misses(entry: Entry, book: Book) -> None:
    """There are near-misses, each says why it is none, and none of them matches."""
    if not entry.record.near_misses:
        entry.says("/nearMisses", "has none", "at least one text that looks alike and is another failure")
    for index, miss in enumerate(entry.record.near_misses):
        if not miss.because.strip():
            entry.says(f"/nearMisses/{index}/because", "is empty")
        for event in events_of(miss.lines):
            if entry in book.fired(event):
                entry.says(f"/nearMisses/{index}", f"is matched: {event.message[:60]!r}")


@check
def cross_fire(entry: Entry, book: Book) -> None:
    """No other record matches the examples, this one matches no other's, unless one of the two says so."""
    hint = "narrow one of the patterns, or name the other in `also`"
    for fire in book.fires.get(id(entry), ()):
        if declared(fire.example_of, fire.record) or stands_behind(fire.record, fire.example_of):
            continue
        if fire.record is entry:
            other = f"{fire.example_of.record.slug} ({fire.example_of.record.source})"
            entry.says("/messagePattern", f"matches example {fire.example} of {other}", hint)
        else:
            other = f"{fire.record.record.slug} ({fire.record.record.source})"
            entry.says(f"/examples/{fire.example}", f"is also matched by {other}", hint)


def declared(one: Entry, other: Entry) -> bool:
    """Whether either record says that both may fire on one event."""
    return bool(
        {one.record.id, one.record.slug} & set(other.record.also)
        or {other.record.id, other.record.slug} & set(one.record.also)
    )


def stands_behind(entry: Entry, other: Entry) -> bool:
    """Whether `entry` may fire on another record's example unsaid, because it never wins there.

    The matcher lets the record of a whole class of errors (tag `generic`) never beat the record of one
    error, and lets one that fixes no text and no class, only its frames, beat none that knows the words.
    """
    if GENERIC not in entry.record.tags:
        return False
    return GENERIC not in other.record.tags or catches_all(entry)


def catches_all(entry: Entry) -> bool:
    """Whether the record takes, at its frames, what no other record knows: it fixes no text and no class."""
    bare = entry.pattern is not None and not entry.needles
    return bare and bool(entry.record.frames) and not entry.record.error_class


@check
def also_exists(entry: Entry, book: Book) -> None:
    """Every record named in `also` exists."""
    for index, name in enumerate(entry.record.also):
        if not book.named(name):
            entry.says(f"/also/{index}", f"{name!r} is no record's id or slug")


@check
def healthy(entry: Entry, book: Book) -> None:
    """The record matches no line of a healthy log, unless it is there to say that the line is harmless."""
    if entry.record.role in ("noise", "warning"):
        return
    for event in book.healthy_fires.get(id(entry), ()):
        entry.says("/messagePattern", f"matches a healthy line: {event.message[:70]!r}")
