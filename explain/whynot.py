"""Why a record does, or does not, match one event: literal, pattern, class, frames, in words."""

from __future__ import annotations

from typing import NamedTuple

import regex

from explain.agreement import class_agrees, frames_agree, near_frames
from explain.catalogue import Catalogue
from explain.matcher import Matcher, variants
from explain.model import Event
from explain.pattern import DEFAULT_TIMEOUT

LONGEST = 4000
SHOWN = 70
NAMES = ("the message", "its class and message", "the message on one line", "its class and message on one line")


class Meeting(NamedTuple):
    """A pattern found in a text of an event."""

    text: str
    what: str
    start: int
    end: int


def meeting(catalogue: Catalogue, number: int, event: Event) -> Meeting | None:
    """Where the whole pattern is found first; None where it is not."""
    pattern = catalogue.pattern(number)
    for what, text in texts_of(event):
        if (found := pattern.search(text)) is not None:
            return Meeting(text, what, found.start(), found.end())
    return None


def texts_of(event: Event) -> list[tuple[str, str]]:
    """The texts in which a pattern is looked for, each with what it is."""
    message, folded = event.message, " ".join(event.message.split())
    known = {message: NAMES[0], folded: NAMES[2]}
    if event.exception:
        known[f"{event.exception}: {message}" if message else event.exception] = NAMES[1]
        known.setdefault(f"{event.exception}: {folded}", NAMES[3])
    known[message] = NAMES[0]
    texts = [(known.get(text, NAMES[0]), text[:LONGEST]) for text in variants(event)]
    if event.kind != "traceback" and event.text.strip() != message:
        texts.append(("the message and the lines behind it", event.text[:LONGEST]))
    return texts


def literal_words(catalogue: Catalogue, number: int, event: Event) -> str:
    """Which literal of the record led to it, and where in the event it stands."""
    needles = [(needle, caseless) for needle, caseless, owner in catalogue.needles() if owner == number]
    if not needles:
        return "No literal: the record is looked at for every event whose traceback names one of its files."
    for what, text in texts_of(event):
        for needle, caseless in needles:
            place = (text.lower() if caseless else text).find(needle)
            if place >= 0:
                return f"The literal {needle!r} stands at character {place + 1} of {what}, so the pattern was tried."
    shown = ", ".join(repr(needle) for needle, _ in needles[:4])
    return f"None of its literals stands in the event, so the pattern was not tried: {shown}."


def agreement_words(catalogue: Catalogue, number: int, event: Event) -> tuple[list[str], int]:
    """How far the pattern goes with the event, and how many characters of the pattern that is.

    In words: up to which character of the pattern and of the text, what the text has there, and what is asked for.
    """
    pattern = catalogue.pattern(number)
    best: tuple[int, int, str, str] = (0, 0, "", "")
    for what, text in texts_of(event):
        start, end = pattern.agreement(text)
        if end - start > best[1] - best[0]:
            best = (start, end, what, text)
    start, end, what, text = best
    if not end:
        return ["No part of the pattern is in it."], 0
    if end == len(pattern.text) or meeting(catalogue, number, event) is not None:
        return ["The pattern agrees with it."], end - start
    found = _search(pattern.text[start:end], text)
    lines = [f"The pattern agrees as far as   {pattern.text[start:end]}"]
    lines.append(f"and no further than before     {pattern.text[end : end + 60]}")
    place = f"that is character {end} of the pattern's {len(pattern.text)}"
    if found is not None:
        rest = text[found.end() : found.end() + SHOWN]
        goes_on = f"goes on with {rest!r}" if rest else "ends"
        place += f", and character {found.end()} of {what}, which {goes_on} there"
    return [*lines, f"{place[0].upper()}{place[1:]}."], end - start


def _search(part: str, text: str) -> regex.Match[str] | None:
    try:
        return regex.search(part, text, timeout=DEFAULT_TIMEOUT)
    except (regex.error, TimeoutError):
        return None


def refusals(catalogue: Catalogue, number: int, event: Event) -> list[str]:
    """What else than the pattern speaks against the record, a sentence each; empty where nothing does."""
    record = catalogue.record(number)
    error_class, frames = catalogue.facts(number)
    lines = []
    if error_class and not class_agrees(error_class, event.exception):
        verdict = "so it is not taken" if event.exception else "so its pattern must match more of the text"
        lines.append(
            f"The record asks for the class {error_class}, the event has {event.exception or 'none'}: {verdict}."
        )
    if frames and not frames_agree(frames, event.frames):
        has = "has no frames" if not event.frames else "has none of the frames that the record asks for"
        lines.append(f"The event {has}: {', '.join(frames[:3])}{' …' if len(frames) > 3 else ''}.")
    elif frames and not error_class and not frames_agree(frames, near_frames(event.frames)):
        lines.append("The frame that the record asks for is far from the error: it stands too high in the stack.")
    met = meeting(catalogue, number, event)
    if met is not None and not event.exception and record.error_type == "exception" and met.start:
        lines.append(
            f"It is a log message with words of its own before: {met.text[max(met.start - 40, 0) : met.start]!r}. A "
            "record of an exception is taken there only where the message quotes an error."
        )
    if event.inside:
        lines.append(f"The line stands inside another message: it begins at line {event.line}.")
    return lines


def score_words(matcher: Matcher, number: int, event: Event) -> str:
    """The score of a record and what makes it."""
    catalogue, score = matcher.catalogue, matcher.score_of(number, event)
    error_class, frames = catalogue.facts(number)
    met = meeting(catalogue, number, event)
    weight = catalogue.pattern(number).weight
    told = [f"{min(weight, met.end - met.start) if met else weight} fixed characters"]
    if error_class:
        told.append("the class agrees" if class_agrees(error_class, event.exception) else "no class to compare")
    if frames:
        worth = frames_agree(frames, event.frames)
        told.append(
            "no frame that it asks for"
            if not worth
            else "a function of the stack agrees"
            if worth > 1
            else "a file or folder of the stack agrees"
        )
    if met is not None:
        told.append("at the start" if met.start == 0 else f"from character {met.start + 1} on")
    return f"{'no score' if score is None else f'score {score:.1f}'} ({', '.join(told)})"
