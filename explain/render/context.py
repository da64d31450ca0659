"""What the launch context adds to a verdict: who failed first, what changed, whether the server came back."""

from __future__ import annotations

from typing import Any

from explain.expressions import expression
from explain.model import Dropped, Finding, LaunchContext, Recovery, Stall
from explain.render import places, plain, safe
from explain.render.layout import Part
from explain.render.text import clip, plural, sentence_list, shorten, wrap

_MOST_CHANGES = 4
_MOST_DROPPED = 3
_CLAUSE_END = expression(r"(?<=.{12})(?:[;:,]|\.(?=\s)| \()")
"""Enough of a solution to know it by."""


def ranks_words(finding: Finding) -> str:
    """How often and on which ranks, and which of them failed first."""
    often = places.often_words(finding)
    if not finding.first_ranks:
        return often
    return f"{often}; {places.rank_words(finding.first_ranks, 4)} first"


def context_parts(context: LaunchContext, finding: Finding, room: int, *, lead: bool) -> list[Part]:
    """The parts between the facts and the explanation; only the lead finding tells of the launch."""
    after = recovery_words(finding.recovery)
    parts = [Part("Stuck", tuple(line for words in finding.stuck[:2] for line in wrap(safe.line(words), room)))]
    if lead:
        parts.append(Part("Behind", tuple(line for words in context.unfinished for line in wrap(words, room))))
        if context.stalled:
            parts.append(Part("Silent", tuple(wrap(safe.line(stalled_words(context.stalled)), room))))
        parts.append(Part("Starts", tuple(shorten(wrap(starts_words(context), room, split=True), 3))))
    return [*parts, Part("After", tuple(wrap(after, room)))]


def stalled_words(stall: Stall) -> str:
    """What stopped, when, with how much left to do, and what shows it."""
    last = f"line {stall.place.line}" + (f", {stall.place.time}" if stall.place.time else "")
    until = f"line {stall.until.line}" + (f", {stall.until.time}" if stall.until.time else "")
    if stall.kind == "starting":
        words = (
            f"the last step of the start was that {stall.step}; nothing new follows {last}, for "
            f"{duration_words(stall.seconds)}, until {until}"
        )
    else:
        load = [f"{plural(stall.running, 'request')} running"] if stall.running else []
        load += [f"{stall.queued} queued"] if stall.queued else []
        words = (
            f"no batch for {duration_words(stall.seconds)}: the last one ({last}) had {' and '.join(load)}; the log "
            f"goes on until {until}"
        )
    return "; ".join((words, *stall.because))


def recovery_words(recovery: Recovery | None) -> str:
    """What became of the server, as a sentence; empty where the log does not tell."""
    if recovery is None or recovery.state == "unknown":
        return ""
    if recovery.state == "dead":
        return "the server did not come back in this log"
    line = f" (line {recovery.place.line})" if recovery.place else ""
    took = f" {duration_words(recovery.seconds)} later" if recovery.seconds is not None else ""
    if recovery.state == "serving":
        return f"the server went on serving{took}{line}"
    if not took:
        return f"the server was started again{line}"
    return f"the server was restarted and ready again{took}{line}"


def duration_words(seconds: float) -> str:
    """`41 s`, `12 min`, `3 h 20 min`."""
    if seconds < 1:
        return "less than a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def starts_words(context: LaunchContext) -> str:
    """How many starts the log holds and what changed between them; empty for a single start."""
    if len(context.lifetimes) < 2:
        return ""
    failed = sum(life.failed is not None for life in context.lifetimes)
    words = f"{plural(len(context.lifetimes), 'start')} in this log"
    if failed > 1:
        words += f", {failed} of them failed"
    if context.changes:
        shown = [_change(one.argument, one.before, one.after) for one in context.changes[:_MOST_CHANGES]]
        more = len(context.changes) - len(shown)
        words += "; since the last one that became ready changed: " + sentence_list(
            [*shown, *([f"{more} more"] if more else [])]
        )
    return words


def _change(argument: str, before: Any, after: Any) -> str:
    old, new = (clip(safe.line(str(plain.masked(value, argument))), 40) for value in (before, after))
    return f"{safe.line(argument)} from {old} to {new}"


def dropped_part(dropped: tuple[Dropped, ...], room: int) -> Part:
    """Solutions that are not worth trying here, a line each."""
    lines = []
    for one in dropped[:_MOST_DROPPED]:
        solution = _CLAUSE_END.split(safe.line(one.solution), maxsplit=1)[0].rstrip(".")
        reason = safe.line(one.reason)
        lines.append(f"{clip(solution, max(room - len(reason) - 2, 24))}: {reason}")
    return Part("Skip", tuple(line for text in lines for line in shorten(wrap(text, room), 2)))
