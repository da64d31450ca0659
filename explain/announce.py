"""News -> output, as it happens: blocks for a terminal, events for programs."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import BinaryIO

from explain.live import Live, News
from explain.model import Finding, Report
from explain.render import live, safe, terminal
from explain.render.text import Painter
from explain.values import dataclass, field

STILL_ON_SCREEN_SECONDS = 120.0
"""So long after a verdict the summary does not say it again."""
QUIET_SECONDS = 60.0
"""Where a count cannot be rewritten in place, it is printed again after so long, and at round numbers."""


@dataclass(slots=True)
class TerminalAnnouncer:
    """Writes blocks to `write`. `in_place`: whether the last line is ours to rewrite, as on a terminal.

    `in_place` and `width` are asked for each time: we may be sent to the background, a terminal be resized.
    """

    write: Callable[[str], None]
    in_place: Callable[[], bool]
    width: Callable[[], int]
    color: bool
    show_all: bool = False
    names: list[str] = field(default_factory=list)
    _counted: str | None = None
    """The finding whose count stands on the last line of the terminal."""
    _counted_width: int = 0
    _printed: dict[str, tuple[int, float]] = field(default_factory=dict)
    _last: tuple[str, int, float] = ("", 0, 0.0)
    """The finding whose verdict was printed last, its count then, and when."""

    def tell(self, news: News, run: Live) -> None:
        width, painter = self.width(), Painter(self.color)
        if news.kind == "again":
            self._again(news, width, painter)
            return
        lines: list[str] = []
        if news.kind == "back":
            lines = live.back(news.finding, _downtime(news, run), width=width, painter=painter)
        elif news.finding.role == "cause":
            report = run.report(0.0)
            index = next((i for i, one in enumerate(report.findings) if one.id == news.finding.id), None)
            if index is not None:
                lines = live.failure(report, index, width=width, painter=painter)
                self._last = (news.finding.id, news.finding.count, time.monotonic())
        elif news.finding.role != "noise" and (news.finding.record is not None or self.show_all):
            lines = live.other(news.finding, news.lead, width=width, painter=painter)
        if lines:
            self._end_count()
            self.write("".join(line + "\n" for line in lines))

    def stalled(self, report: Report) -> None:
        """The server stopped going on while its log does."""
        lines = live.stalled(report, width=self.width(), painter=Painter(self.color))
        self._end_count()
        self.write("".join(line + "\n" for line in lines))

    def _again(self, news: News, width: int, painter: Painter) -> None:
        """One line that counts: rewritten in a terminal, else printed at 10, 100, … and once a minute.

        Only the last line can be rewritten: findings that come in turn must not print a line each time.
        """
        finding = news.finding
        if finding.role == "noise" or (finding.record is None and finding.role == "warning" and not self.show_all):
            return
        line = live.again(finding, width=width - 1, painter=painter)
        in_place = self.in_place()
        if width < self._counted_width:
            self._end_count()  # a terminal that became narrow broke the line: what is on which row is unknown
        if in_place and self._counted == finding.id:
            self.write(f"\r\x1b[K{line}")
            self._counted_width = width
            return
        if not self._due(finding, first=in_place and self._counted is None):
            return
        self._end_count()
        self.write(line if in_place else line + "\n")
        self._counted, self._counted_width = (finding.id, width) if in_place else (None, 0)

    def _due(self, finding: Finding, *, first: bool) -> bool:
        """Whether a count is worth a line of its own. What follows from a cause is counted with it."""
        follows = finding.caused_by is not None
        count, at = self._printed.get(finding.id, (1, 0.0))
        now = time.monotonic()
        if finding.count >= 10 * count or (not follows and (first or now - at >= QUIET_SECONDS)):
            self._printed[finding.id] = (max(10 ** (len(str(finding.count)) - 1), count), now)
            return True
        return False

    def _end_count(self) -> None:
        if self._counted is not None:
            self.write("\n")
            self._counted, self._counted_width = None, 0

    def summary(self, run: Live, seconds: float) -> None:
        self._end_count()
        report = run.report(seconds)
        if not report.findings and report.context.stalled is None:
            return
        finding, count, at = self._last
        first = report.findings[0] if report.findings else None
        if first and (first.id, first.count) == (finding, count) and time.monotonic() - at < STILL_ON_SCREEN_SECONDS:
            lines = live.brief_summary(report, width=self.width(), painter=Painter(self.color))
            self.write("".join(line + "\n" for line in lines))
        else:
            text = terminal.render(report, width=self.width(), color=self.color, show_all=self.show_all)
            self.write("\n" + text)


def to_text(target: BinaryIO, encoding: str) -> Callable[[str], None]:
    """A writer of text on a binary stream that flushes at once and never fails on a character."""

    def write(text: str) -> None:
        write_through(target, safe.encode(text, encoding))

    return write


def write_through(target: BinaryIO, data: bytes) -> None:
    """Writes all of `data` at once, past any buffer.

    A terminal or pipe that another program has made non-blocking is waited for: a slow reader loses nothing.
    """
    raw = getattr(target, "raw", target)
    rest = memoryview(data)
    while True:
        try:
            target.flush()  # what others left in the buffer comes first
            written = raw.write(rest) if rest else 0
        except BlockingIOError:
            written = None
        if written is None:
            select.select([], [raw], [])
            continue
        rest = rest[written:]
        if not rest:
            target.flush()
            return


def _downtime(news: News, run: Live) -> float:
    """How long the server was away by its own clock, which holds for an old log too; else by ours."""
    known = (one.recovery for one in run.report(0.0).findings if one.id == news.finding.id and one.recovery)
    return next((one.seconds for one in known if one.seconds is not None), news.seconds)
