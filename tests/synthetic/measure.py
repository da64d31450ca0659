"""How many synthetic events the site index recognises, with frames and without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from explain.matcher import Matcher
from explain.model import Event, Frame, Match, Traceback

from .generator import Synthetic

ENOUGH = 8
"""Characters of fixed text from which on an event must be recognised by its text."""


@dataclass
class Measured:
    """Counts of events by what was asked of them, and the first ones that failed."""

    asked: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    failed: dict[str, list[Synthetic]] = field(default_factory=dict)

    def note(self, what: str, event: Synthetic, good: bool) -> None:
        self.asked[what] += 1
        self.passed[what] += good
        if not good:
            self.failed.setdefault(what, []).append(event)

    def share(self, what: str) -> float:
        return self.passed[what] / self.asked[what] if self.asked[what] else 1.0


def event_of(synthetic: Synthetic, frames: bool) -> Event:
    """The event the reader makes of the printed text."""
    exception = synthetic.exception or None
    traceback = None
    if exception is not None:
        outer = Frame("/opt/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", 1, "run", "run()")
        place = Frame(
            f"/usr/lib/python3/dist-packages/{synthetic.file}",
            synthetic.line,
            synthetic.function,
            synthetic.code,
        )
        traceback = Traceback((outer, place) if frames else (), exception, synthetic.message)
    shown = f"{exception}: {synthetic.message}" if exception else synthetic.message
    return Event(
        kind="traceback" if exception else "message",
        source=0,
        line=1,
        end_line=1,
        time=None,
        rank=None,
        exception=exception,
        message=synthetic.message,
        text=shown,
        traceback=traceback,
    )


def measure(events: Iterable[Synthetic], matcher: Matcher) -> Measured:
    """Matches every event, with its frames and without."""
    result = Measured()

    def known(match: Match) -> bool:
        return match.record is not None or match.site is not None

    for event in events:
        if event.kind == "log":
            if event.literal >= ENOUGH:
                result.note("log recognised", event, known(matcher.match(event_of(event, False))))
            continue
        framed = matcher.match(event_of(event, True))
        site = framed.site
        exact = site is not None and (site.file, site.function) == (event.file, event.function)
        if event.bare:
            result.note("bare exact", event, exact)
        elif event.literal >= ENOUGH:
            result.note("recognised with frames", event, known(framed))
            result.note("exact with frames", event, exact)
            result.note("recognised without frames", event, known(matcher.match(event_of(event, False))))
    return result
