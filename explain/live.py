"""Findings while a log grows: what is new, what came again, when the server is back. Prints nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from explain.cutting import LineCutter
from explain.engine import Explainer, OnEvent, Stream
from explain.matcher import Matcher
from explain.model import Block, Finding, Report, Source
from explain.values import dataclass, field, replace

STALL_SECONDS = 15.0
"""How often a run is looked at for a server that stopped going on."""
SILENCE = 1.0
"""Seconds without a line after which what is open is taken for finished."""
_KEPT_STREAMS = 24
"""Of one source: more than files of a path that are read at the same time."""
_REMEMBERED = 20_000
"""Findings that are known to be told; a server that fails in more ways may hear the first ones again."""


@dataclass(frozen=True, slots=True)
class News:
    """One thing to tell.

    `new`: a finding for the first time. `again`: its count rose; `more` by how many. `back`: the server said
    that it is ready after a failure; `finding` is the failure, `seconds` how long ago it was told.
    """

    kind: Literal["new", "again", "back"]
    finding: Finding
    more: int = 0
    seconds: float = 0.0
    lead: Finding | None = None
    """The cause that a consequence belongs to, None where none is known."""


@dataclass(slots=True)
class Told:
    """What was said of a finding. `before`: how often it came in earlier runs; `count` is all in all."""

    role: str
    count: int
    at: float
    before: int = 0


@dataclass(slots=True)
class _Open:
    stream: Stream
    cutter: LineCutter
    touched: float
    generation: int
    quiet: bool = True


@dataclass(slots=True)
class Live:
    """Feeds what arrives to an explainer and says what there is to tell.

    `names` are the sources by number and may grow. Times are seconds of one clock that never goes back.
    """

    matcher: Matcher
    names: list[str]
    on_event: OnEvent | None = None
    told: dict[str, Told] = field(default_factory=dict)
    bytes_read: int = 0
    lines_read: int = 0
    explainer: Explainer = field(init=False)
    generation: int = 0
    """Of the event that `on_event` is called with."""
    _streams: dict[tuple[int, int], _Open] = field(default_factory=dict)
    _first_lines: dict[tuple[int, int], int] = field(default_factory=dict)
    _events: int = 0
    _ready: int = 0
    _failed: tuple[float, Finding] | None = None
    _stall_at: float = 0.0
    _stall_told: tuple[str, str, int] | None = None

    def __post_init__(self) -> None:
        self.explainer = Explainer(self.matcher, self.names, self.on_event, head=0, rolling=True)

    def start_at_line(self, source: int, generation: int, line: int) -> None:
        """The number of the first line that a generation will hand in."""
        self._first_lines[(source, generation)] = line

    def feed(self, source: int, generation: int, data: bytes, now: float) -> None:
        key = (source, generation)
        opened = self._streams.get(key)
        if opened is None:
            first_line = self._first_lines.pop(key, 1)
            opened = _Open(self.explainer.open(source, first_line=first_line), LineCutter(source), now, generation)
            self._streams[key] = opened
            self._forget(source)
        self.bytes_read += len(data)
        for block in opened.cutter.add(data):
            before = opened.stream.window.next_line
            self._scan(opened, block)
            self.lines_read += opened.stream.window.next_line - before
        opened.touched, opened.quiet = now, False

    def _forget(self, source: int) -> None:
        """Old files of a path that is rotated for weeks: the last few may still be written to."""
        mine = [key for key in self._streams if key[0] == source]
        for key in mine[:-_KEPT_STREAMS]:
            self._end(self._streams.pop(key))

    def _end(self, opened: _Open) -> None:
        for block in opened.cutter.finish():
            self._scan(opened, block)
        self._quiet(opened)

    def _quiet(self, opened: _Open) -> None:
        self.generation = opened.generation
        self.explainer.quiet(opened.stream)
        opened.quiet = True

    def _scan(self, opened: _Open, block: Block) -> None:
        self.generation = opened.generation
        self.explainer.feed(opened.stream, block, self.matcher.scanner.ends(block.data))

    @property
    def waiting(self) -> bool:
        """Whether something is open that silence will close."""
        return any(not opened.quiet for opened in self._streams.values())

    def settled(self, source: int, generation: int) -> tuple[int, int]:
        """(bytes, line): how many of the bytes handed in must be read again after a restart, from where."""
        opened = self._streams.get((source, generation))
        if opened is None:
            return 0, self._first_lines.get((source, generation), 1)
        offset, line = opened.stream.settled
        return opened.stream.window.bytes - offset + opened.cutter.held, line

    # ------------------------------------------------------------------ news

    def news(self, now: float) -> Iterator[News]:
        """What there is to tell since the last call."""
        for opened in self._streams.values():
            if not opened.quiet and now - opened.touched >= SILENCE:
                self._quiet(opened)
        yield from self._findings(now)

    def stalled(self, now: float) -> Report | None:
        """The report of a server that stopped going on, once for each time it did; None where there is no news."""
        if now < self._stall_at:
            return None
        self._stall_at = now + STALL_SECONDS
        if not self.explainer.may_stand_still:
            return None
        report = self.report(0.0)
        stall = report.context.stalled
        key = (stall.kind, stall.place.source, stall.place.line) if stall is not None else None
        if key is None or key == self._stall_told:
            return None
        self._stall_told = key
        return report

    def finish(self, now: float) -> Iterator[News]:
        """Nothing more will come."""
        for opened in self._streams.values():
            self._end(opened)
        yield from self._findings(now)

    def _findings(self, now: float) -> Iterator[News]:
        fresh = False
        if self.explainer.events != self._events:
            self._events = self.explainer.events
            findings = self.explainer.findings()
            before, self._failed = self._failed, None
            for finding in findings:
                yield from self._one(finding, findings, now)
            fresh, self._failed = self._failed is not None, self._failed or before
        if self.explainer.launch.ready != self._ready:
            self._ready = self.explainer.launch.ready
            if self._failed is not None and (not fresh or self._ready_after(self._failed[1])):
                since, failure = self._failed
                self._failed = None
                yield News("back", failure, seconds=now - since)

    def _ready_after(self, failure: Finding) -> bool:
        """Whether a server said that it is ready below the failure: both may come in one piece."""
        places = (start.ready for start in self.explainer.launch.starts)
        last = failure.last
        return any(one and one.source == last.source and one.line > last.line for one in places)

    def _one(self, finding: Finding, findings: tuple[Finding, ...], now: float) -> Iterator[News]:
        told = self.told.get(finding.id)
        if told is None:
            self.told[finding.id] = Told(finding.role, finding.count, now)
            if len(self.told) > _REMEMBERED:
                del self.told[next(iter(self.told))]
            lead = findings[finding.caused_by] if finding.caused_by is not None else None
            if finding.role == "cause":
                self._failed = (now, finding)
            yield News("new", finding, lead=lead)
        elif told.before + finding.count > told.count:
            count = told.before + finding.count
            more, told.count = count - told.count, count
            if finding.role == "cause":
                self._failed = (now, finding)
            yield News("again", replace(finding, count=count), more=more)

    def report(self, seconds: float) -> Report:
        """Everything that was found, as for a finished log."""
        sources = [
            Source(
                name,
                sum(opened.stream.window.lines for key, opened in self._streams.items() if key[0] == number),
                sum(opened.stream.window.bytes for key, opened in self._streams.items() if key[0] == number),
            )
            for number, name in enumerate(self.names)
        ]
        return self.explainer.report(sources, seconds)
