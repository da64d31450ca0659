"""Checks of the pattern by itself."""

from __future__ import annotations

from collections.abc import Sequence

from explain.authoring.book import Book, Entry
from explain.authoring.checks.registry import check
from explain.needles import trap
from explain.ordinary import ORDINARY_TEXT
from explain.pattern import compile_error


@check
def pattern(entry: Entry, book: Book) -> None:
    """The pattern compiles, matches the record's own errorMessage, and the scanner can find it."""
    reason = compile_error(entry.record.pattern)
    if reason is not None:
        entry.says("/messagePattern", f"does not compile: {reason}")
        return
    assert entry.pattern is not None
    message = entry.record.error_message
    if not message.strip() and not entry.record.frames:
        entry.says("/errorMessage", "is empty", "a concrete typical message; only with frames may it be empty")
    if entry.pattern.search(message) is None:
        entry.says("/messagePattern", "does not match errorMessage", agreement(entry, [message]))
    if not entry.needles and not entry.record.frames:
        hint = "every alternative needs a run of 4 characters without quotes, <, >, &, / or backslash"
        entry.says("/messagePattern", "has no literal to find it by", f"{hint}; or set frames")
    if entry.pattern.search("") and not entry.record.frames:
        entry.says("/messagePattern", "matches an empty message", "only with frames may it")


@check
def rare(entry: Entry, book: Book) -> None:
    """What the scanner looks for stands in no line that a healthy server prints all the time."""
    for needle in entry.needles:
        if needle.text in ORDINARY_TEXT:
            hint = "put more fixed text beside it, in every alternative"
            entry.says("/messagePattern", f"is looked for by {needle.text!r}, which ordinary lines hold", hint)


HOSTILE_LENGTH = 20_000
HINT_SLOW = r"no quantifier in a quantified group; bound what may be long and begins a branch: \w{1,80}"


@check
def linear(entry: Entry, book: Book) -> None:
    """The pattern answers quickly on long text made to trap it."""
    if entry.pattern is None:
        return
    text = trap(entry.record.pattern, entry.record.error_message, length=HOSTILE_LENGTH)
    if text is not None:
        start = text[:40] + "…"
        entry.says("/messagePattern", f"is slow on {len(text)} characters like {start!r}", HINT_SLOW)


def agreement(entry: Entry, texts: Sequence[str]) -> str:
    """Up to where the pattern agrees with one of the texts, for a hint."""
    assert entry.pattern is not None
    places = [entry.pattern.agreement(text) for text in texts]
    start, end = max(places, key=lambda place: place[1] - place[0], default=(0, 0))
    return f"the pattern agrees as far as {entry.record.pattern[start:end]!r}" if end else "nothing of it agrees"
