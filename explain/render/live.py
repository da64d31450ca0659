"""What is printed while a log is followed: a block for each new failure, a line for what followed from it."""

from __future__ import annotations

from explain.model import Finding, Place, Report
from explain.render import places, safe
from explain.render.layout import rule
from explain.render.terminal import stalled_block
from explain.render.text import TIMES, Painter, clip
from explain.render.verdict import one_line, title_of, verdict
from explain.values import replace

INDENT = "  "
SUMMARY_LINES = 12


def failure(report: Report, index: int, *, width: int, painter: Painter) -> list[str]:
    """A new cause: the whole verdict on it. It is too early to say that the server did not come back."""
    findings = tuple(
        replace(one, recovery=None) if one.recovery and one.recovery.state == "dead" else one for one in report.findings
    )
    return ["", *verdict(replace(report, findings=findings), index, width=width, painter=painter), ""]


def other(finding: Finding, lead: Finding | None, *, width: int, painter: Painter) -> list[str]:
    """A new warning or consequence: one line, with what to do about it below where it stands alone."""
    if finding.role == "consequence":
        words = "led to" if lead is not None else "without its cause so far"
        text = _with_place(f"{INDENT}└ {words}: {title_of(finding)}", finding.first, width)
        return [painter.paint(text, "dim" if lead is not None else "blue")]
    text = _with_place(f"{_clock(finding)}{finding.role}: {title_of(finding)}", finding.first, width)
    lines = [painter.paint(text, "yellow")]
    if finding.record is not None and finding.solutions:
        lines.append(clip(f"{INDENT}{safe.line(finding.solutions[0])}", width))
    return lines


def again(finding: Finding, *, width: int, painter: Painter) -> str:
    """The line that counts repeats."""
    ranks = f" on {places.rank_words(finding.ranks)}" if any(finding.ranks) else ""
    text = _with_place(f"{INDENT}{finding.count:,} {TIMES} {title_of(finding)}{ranks}", finding.last, width, "last ")
    return painter.paint(text, "dim")


def back(finding: Finding, seconds: float, *, width: int, painter: Painter) -> list[str]:
    """The server is ready again after a failure."""
    text = f"The server is back, {duration(seconds)} after: {title_of(finding)}"
    return [painter.paint(clip(text, width), "green")]


def stalled(report: Report, *, width: int, painter: Painter) -> list[str]:
    """The server stopped going on while its log does: since when, and what to do while it stands."""
    return ["", *stalled_block(report, "The log", width, painter), ""]


def brief_summary(report: Report, *, width: int, painter: Painter) -> list[str]:
    """What a run came to, where the verdict on its cause was printed a moment ago: a line for each finding."""
    told = [finding for finding in report.findings if finding.role != "noise"]
    lines = ["", rule("SUMMARY", width, painter, "dim")]
    for finding in told[:SUMMARY_LINES]:
        label = f"{INDENT}{finding.role:<12} "
        lines.append(label + one_line(report, finding, width - len(label), ranks=True))
    if len(told) > SUMMARY_LINES:
        lines.append(f"{INDENT}… {len(told) - SUMMARY_LINES} more")
    lines.append(painter.paint(f"{INDENT}The verdict stands above.", "dim"))
    return lines


def duration(seconds: float) -> str:
    """`41 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _with_place(text: str, place: Place, width: int, before: str = "") -> str:
    """One line in which the place is never cut."""
    behind = f" ({before}{places.place_words(place)})"
    return clip(clip(text, max(width - len(behind), 20)) + behind, width)


def _clock(finding: Finding) -> str:
    return f"{safe.line(finding.first.time)} " if finding.first.time else ""
