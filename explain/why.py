"""`why ID SOURCE…`: how a record and a log came together, or where they parted.

For authors of records and for the sceptical: on which events the record fired, which other record was taken
instead, and for events that it missed how far its pattern went, and what class and frames it asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from explain.agreement import class_agrees, frames_agree
from explain.catalogue import Catalogue
from explain.engine import Readable, explain_sources
from explain.matcher import Matcher, variants
from explain.model import Event, Match, Report, Role
from explain.sites import SiteIndex
from explain.values import dataclass, field

MAX_NEAR = 400
"""Events that did not match and are compared with the pattern."""
LONGEST = 2000


@dataclass(slots=True)
class Near:
    """An event that the record did not fire on: its pattern agrees from `start` to `end`."""

    event: Event
    start: int
    end: int
    whole: bool
    """Whether all of the pattern agrees, so that class or frames decided."""


@dataclass(slots=True)
class Story:
    """What was seen of one record in a log."""

    fired: list[tuple[Event, Match]] = field(default_factory=list)
    beaten: list[tuple[Event, Match]] = field(default_factory=list)
    nearest: Near | None = None
    compared: int = 0


def tell(number: int, catalogue: Catalogue, sites: SiteIndex, inputs: Sequence[Readable]) -> tuple[list[str], Report]:
    """The story of one record and some logs as lines of text of the log and ours, not yet cleaned."""
    record = catalogue.record(number)
    pattern = catalogue.pattern(number)
    story = Story()

    def on_event(event: Event, match: Match, _role: Role) -> None:
        if match.record is not None and match.record.id == record.id:
            story.fired.append((event, match))
        elif record.id in match.also:
            story.beaten.append((event, match))
        elif story.compared < MAX_NEAR:
            story.compared += 1
            for text in variants(event):
                start, end = pattern.agreement(text[:LONGEST])
                best = story.nearest
                if end > start and (best is None or end - start > best.end - best.start):
                    whole = pattern.search(text[:LONGEST]) is not None
                    story.nearest = Near(event, start, end, whole)

    matcher = Matcher(catalogue, sites)
    report = explain_sources(inputs, catalogue, sites, matcher=matcher, on_event=on_event)
    names = [one.name for one in inputs]
    needles: list[str] = [needle for needle, _, owner in catalogue.needles() if owner == number]
    lines = [f"{record.slug}: {record.title}", f"pattern   {record.pattern}"]
    lines.append(f"literals  {', '.join(map(repr, needles)) if needles else 'none: found by class and frames'}")
    if record.error_class:
        lines.append(f"class     {record.error_class}")
    if record.frames:
        lines.append(f"frames    one of {', '.join(record.frames)}")
    lines += ["", *_fired(story, report, record.id, names), *_beaten(story, names)]
    if inputs and not story.fired and not story.beaten:
        lines += _missed(story, record.pattern, record.error_class, record.frames, names)
    return lines, report


def _place(event: Event, names: Sequence[str]) -> str:
    rank = f" {event.rank}" if event.rank else ""
    return f"{names[event.source]}:{event.line}{rank}"


def _fired(story: Story, report: Report, record_id: str, names: Sequence[str]) -> list[str]:
    if not story.fired:
        return []
    event, match = story.fired[0]
    lines = [
        f"It fires on {len(story.fired)} events, first on a {event.kind} at {_place(event, names)}:",
        f"    {event.exception + ': ' if event.exception else ''}{event.message[:200]}",
        f"with a score of {match.score:.1f} and a confidence of {match.confidence:.2f}.",
    ]
    if match.captures:
        lines.append("Captures: " + ", ".join(f"{name}={value}" for name, value in match.captures.items()))
    for index, finding in enumerate(report.findings):
        if finding.record is not None and finding.record.id == record_id:
            words = f"Finding {index + 1} of {len(report.findings)}: {finding.role}, because of {finding.why}."
            lines.append(words)
    return lines


def _beaten(story: Story, names: Sequence[str]) -> list[str]:
    lines = []
    for event, match in story.beaten[:3]:
        winner = match.record.slug if match.record else "a site of SGLang's source"
        lines.append(f"At {_place(event, names)} it matches too, but {winner} says more of that event.")
    return lines


def _missed(
    story: Story, pattern: str, error_class: str | None, frames: Sequence[str], names: Sequence[str]
) -> list[str]:
    near = story.nearest
    if near is None:
        return [f"It fires on none of {story.compared} events, and no beginning of its pattern is in one."]
    event = near.event
    lines = [
        f"It fires on none of {story.compared} events. The nearest is the {event.kind} at {_place(event, names)}:",
        f"    {event.exception + ': ' if event.exception else ''}{event.message[:200]}",
    ]
    if near.whole:
        lines.append("The pattern agrees with it.")
    else:
        lines.append(f"The pattern agrees as far as   {pattern[near.start : near.end]}")
        lines.append(f"and no further than before     {pattern[near.end : near.end + 60]}")
    if not class_agrees(error_class, event.exception):
        lines.append(f"The record asks for the class {error_class}, the event has {event.exception or 'none'}.")
    if frames and not frames_agree(frames, event.frames):
        lines.append("No frame of the event is one that the record asks for.")
    return lines
