"""`why ID SOURCE…`: how a record and a log came together, or where they parted.

For authors of records and for the sceptical: through which carriers the line came, which event was read of it,
which literal led to the record and where its pattern matched; which other record was taken instead; for events
that it missed how far its pattern went and what else spoke against it; which rules gave the role and the order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from explain.catalogue import Catalogue
from explain.engine import Explainer, Readable
from explain.matcher import Matcher, variants
from explain.model import Event, Match, Report, Role
from explain.rawlines import Remembering, carriers_of
from explain.sites import SiteIndex
from explain.values import dataclass, field
from explain.whynot import agreement_words, literal_words, meeting, refusals, score_words

MAX_NEAR = 400
"""Events that did not match and are compared with the pattern."""
LONGEST = 2000
SHOWN = 200


@dataclass(slots=True)
class Told:
    """An event that the record met: the match that was taken for it, and the carriers of its line."""

    event: Event
    match: Match
    carriers: tuple[str, ...]


@dataclass(slots=True)
class Story:
    """What was seen of one record in a log."""

    fired: int = 0
    first: Told | None = None
    beaten: list[Told] = field(default_factory=list)
    nearest: Event | None = None
    agreed: int = 0
    events: int = 0
    compared: int = 0
    met_literal: bool = False
    """Whether a literal of the record stands in an event that it did not fire on."""


class Watched(Matcher):
    """A matcher that shows every event that it is asked about, those too that are not worth telling."""

    def __init__(self, catalogue: Catalogue, sites: SiteIndex, show: Callable[[Event, Match], None]) -> None:
        super().__init__(catalogue, sites)
        self._show = show

    def match(self, event: Event, *, all_records: bool = False) -> Match:
        found = super().match(event, all_records=all_records)
        self._show(event, found)
        return found


def tell(number: int, catalogue: Catalogue, sites: SiteIndex, inputs: Sequence[Readable]) -> tuple[list[str], Report]:
    """The story of one record and some logs as lines of text of the log and ours, not yet cleaned."""
    record = catalogue.record(number)
    pattern = catalogue.pattern(number)
    needles = [needle for needle, _, owner in catalogue.needles() if owner == number]
    sources = [Remembering(one, tuple(needle.encode() for needle in needles)) for one in inputs]
    story = Story()

    def on_event(event: Event, match: Match, _role: Role) -> None:
        if match.record is not None and match.record.id == record.id:
            story.fired += 1
            story.first = story.first or Told(event, match, carriers_of(sources[event.source].lines(event.line)))
        elif record.id in match.also and len(story.beaten) < 3:
            story.beaten.append(Told(event, match, ()))

    def compare(event: Event, match: Match) -> None:
        story.events += 1
        if (match.record is not None and match.record.id == record.id) or record.id in match.also:
            return
        held = [needle for needle in needles if needle in event.text or needle in event.message]
        story.met_literal = story.met_literal or bool(held)
        if story.compared < MAX_NEAR or (held and story.compared < 2 * MAX_NEAR):
            story.compared += 1
            for text in variants(event):
                start, end = pattern.agreement(text[:LONGEST])
                # A whole agreement says most: then only class or frames parted them.
                agreed = end - start + len(pattern.text) * (meeting(catalogue, number, event) is not None)
                if agreed > story.agreed:
                    story.nearest, story.agreed = event, agreed

    matcher = Watched(catalogue, sites, compare)
    run = Explainer(matcher, [one.name for one in inputs], on_event)
    started = time.monotonic()
    read = [run.read(index, source) for index, source in enumerate(sources)]
    report = run.report(read, time.monotonic() - started)
    names = [one.name for one in inputs]
    lines = [f"{record.slug}: {record.title}", f"pattern   {record.pattern}"]
    lines.append(f"literals  {', '.join(map(repr, needles)) if needles else 'none: found by class and frames'}")
    if record.error_class:
        lines.append(f"class     {record.error_class}")
    if record.frames:
        lines.append(f"frames    one of {', '.join(record.frames)}")
    lines.append(f"role      {record.role}, {record.severity}")
    lines += ["", *_fired(story, matcher, number, names), *_placed(run, report, record.id)]
    lines += _beaten(story, matcher, number, names)
    if inputs and not story.fired and not story.beaten:
        lines += _missed(story, catalogue, number, sources)
    return lines, report


def _place(event: Event, names: Sequence[str]) -> str:
    rank = f" {event.rank}" if event.rank else ""
    lines = f"{event.line}-{event.end_line}" if event.end_line > event.line else f"{event.line}"
    return f"{names[event.source]}:{lines}{rank}"


def _shown(event: Event) -> list[str]:
    cut = "…" if len(event.message) > SHOWN else ""
    lines = [f"    {event.exception + ': ' if event.exception else ''}{event.message[:SHOWN]}{cut}"]
    if event.heading:
        lines.append(f"    under the heading {event.heading[:SHOWN]!r}")
    if event.frames:
        deepest = event.frames[-1]
        under = f", {len(event.frames) - 1} frames under it" if len(event.frames) > 2 else ""
        lines.append(f"    raised in {deepest.file}:{deepest.line} in {deepest.function}{under}")
    return lines


def _fired(story: Story, matcher: Matcher, number: int, names: Sequence[str]) -> list[str]:
    if story.first is None:
        return []
    catalogue = matcher.catalogue
    event, match = story.first.event, story.first.match
    through = ", in ".join(story.first.carriers)
    events = f"{story.fired} event{'s' * (story.fired != 1)}"
    lines = [
        f"It fires on {events}, first on a {event.kind} at {_place(event, names)}:",
        *_shown(event),
        f"Carrier: {through or 'none, the line is as the program wrote it'}.",
        literal_words(catalogue, number, event),
    ]
    if (met := meeting(catalogue, number, event)) is not None:
        matched = met.text[met.start : met.end]
        what = f"the characters {met.start + 1} to {met.end}" if met.end > met.start else "an empty part"
        lines.append(f"The pattern matches {what} of {met.what}: {matched[:SHOWN]!r}.")
    lines.append(f"It has a {score_words(matcher, number, event)} and a confidence of {match.confidence:.2f}.")
    if match.captures:
        lines.append("Captures: " + ", ".join(f"{name}={value}" for name, value in match.captures.items()))
    if match.also:
        others = [catalogue.record(other).slug for one in match.also if (other := catalogue.number(one)) is not None]
        lines.append(f"Of the event it says more than what matches it too: {', '.join(others[:5])}.")
    return lines


def _placed(run: Explainer, report: Report, record_id: str) -> list[str]:
    """Role and place of the record's findings among all, with the rules that gave them."""
    lines = []
    for index, finding in enumerate(report.findings):
        if finding.record is None or finding.record.id != record_id:
            continue
        lines.append(f"Finding {index + 1} of {len(report.findings)}: {finding.role}, because of {finding.why}.")
        if index and (rule := run.order_rule(index - 1)):
            lines.append(f"It stands behind {_name(report, index - 1)}: {rule}.")
        if rule := run.order_rule(index):
            lines.append(f"It stands before {_name(report, index + 1)}: {rule}.")
    return lines


def _name(report: Report, index: int) -> str:
    finding = report.findings[index]
    what = finding.record.slug if finding.record else finding.exception or finding.message[:40]
    return f"finding {index + 1} ({what}, {finding.role})"


def _beaten(story: Story, matcher: Matcher, number: int, names: Sequence[str]) -> list[str]:
    lines = []
    catalogue = matcher.catalogue
    for told in story.beaten:
        event, match = told.event, told.match
        winner = match.record.slug if match.record else "a site of SGLang's source"
        lines.append(f"At {_place(event, names)} it matches too, but {winner} says more of that event:")
        lines += _shown(event)
        other = catalogue.number(match.record.id) if match.record else None
        if other is not None:
            lines.append(f"    {winner}: {score_words(matcher, other, event)}")
        lines.append(f"    {catalogue.record(number).slug}: {score_words(matcher, number, event)}")
    return lines


def _missed(story: Story, catalogue: Catalogue, number: int, sources: Sequence[Remembering]) -> list[str]:
    event = story.nearest
    events = f"{story.events} event{'s' * (story.events != 1)}"
    if event is None:
        lines = [f"It fires on none of {events}, and no beginning of its pattern is in one."]
        return lines if story.met_literal else lines + _unread(sources)
    names = [one.name for one in sources]
    lines = [
        f"It fires on none of {events}. The nearest is the {event.kind} at {_place(event, names)}:",
        *_shown(event),
        *agreement_words(catalogue, number, event)[0],
        literal_words(catalogue, number, event),
        *refusals(catalogue, number, event),
    ]
    return lines if story.met_literal else lines + _unread(sources)


def _unread(sources: Sequence[Remembering]) -> list[str]:
    """Lines that hold a literal of the record and are no event: data of users or of the configuration."""
    lines = []
    for source in sources:
        for needle, line in list(source.places.items())[:2]:
            lines.append(
                f"The literal {needle.decode()!r} stands in {source.name}:{line}, but in no event: of lines that hold "
                "data of users or of the configuration none is read."
            )
    return lines
