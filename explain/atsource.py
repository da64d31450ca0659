"""The place of the first cause in the user's own copy of SGLang: the lines around it, and when it raises.

Only for one finding of a report, and only where a copy is at hand: nothing here is on the way of a log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from explain.model import Finding, Frame, LaunchContext, Report
from explain.render import plain
from explain.render.layout import NO_SOURCE, CodeLine, OwnSource
from explain.roles import GENERIC
from explain.sitesource import SourceLine, installed_release, installed_sglang, lines_around, read_source, source_around

if TYPE_CHECKING:
    from pathlib import Path

MOST_VALUES = 6


def at_source(report: Report, sglang: Path | None) -> OwnSource:
    """What the copy of SGLang at `sglang`, else the installed one, has at the place of the first cause.

    Where no copy has the place, the conditions of SGLang's own message as they were harvested. Empty where there is
    no cause, or nothing is known of its place.
    """
    first = report.findings[0] if report.findings else None
    if first is None or first.role != "cause":
        return NO_SOURCE
    told = first.record is not None and GENERIC not in first.record.tags
    root = sglang if sglang is not None else installed_sglang()
    own = _of_copy(root, report, first, told) if root is not None else NO_SOURCE
    if told or own.conditions or first.site is None or first.site.line is None:
        return own
    from explain.guardfacts import conditions_at

    site = first.site
    conditions = conditions_at(site.file, first.site.line)
    if not conditions:
        return own
    names = tuple(dict.fromkeys(re.findall(r"[A-Za-z_]\w+", " ".join(conditions))))
    return OwnSource(own.code, conditions, _values(names, report.context), _note(site.last_version, report.context, ""))


def _of_copy(root: Path, report: Report, first: Finding, told: bool) -> OwnSource:
    """What a copy has; `told` where a record says when the error is raised."""
    if told and first.site is None:
        return NO_SOURCE
    release = installed_release(root)
    same = _written_by(release, report.context.sglang_version)
    file, code = _place(root, first, same)
    shown = tuple(CodeLine(one.number, one.text, one.here) for one in code)
    here = next((one.number for one in code if one.here), None)
    text = read_source(root, file) if here is not None and not told else None
    if text is None or here is None:
        return OwnSource(shown)
    # `ast` is imported where an error is unknown and its source is at hand, nowhere else.
    from explain.guards import guard_at

    guard = guard_at(text, here)
    if guard is None and first.frame is not None and first.frame.file == file:
        # The message may have been put together before: what raises is the line that the traceback prints.
        raising = next((one.number for one in _around_frame(root, first.frame, same) if one.here), None)
        guard = guard_at(text, raising) if raising is not None else None
    if guard is None or not guard.conditions:
        return OwnSource(shown)
    return OwnSource(
        shown, guard.conditions, _values(guard.names, report.context), _note(release, report.context, " here")
    )


def _place(root: Path, finding: Finding, same: bool) -> tuple[str, list[SourceLine]]:
    """The file and the lines around what raised: the site's where one is known, else those of the deepest frame."""
    frame = finding.frame
    if finding.site is not None:
        line = frame.line if frame and frame.file == finding.site.file else None
        return finding.site.file, source_around(root, finding.site, line)
    if frame is None or not frame.file.startswith("sglang/"):
        return "", []
    return frame.file, _around_frame(root, frame, same)


def _around_frame(root: Path, frame: Frame, same: bool) -> list[SourceLine]:
    """The lines around a frame; the printed code line decides where, `same` whether its number alone may."""
    text = read_source(root, frame.file)
    if text is None:
        return []
    lines = text.splitlines()
    wanted = (frame.code or "").strip()
    places = [number for number, line in enumerate(lines, 1) if wanted and line.strip() == wanted]
    if places:
        return lines_around(lines, min(places, key=lambda number: abs(number - frame.line)))
    return lines_around(lines, frame.line) if same and not wanted and frame.line <= len(lines) else []


def _written_by(release: str | None, server: str | None) -> bool:
    return release is not None and release in (server or "").split(" to ")


def _values(names: tuple[str, ...], context: LaunchContext) -> tuple[str, ...]:
    args: Mapping[str, Any] = context.server_args
    return tuple(f"{name}={plain.masked(args[name], name)!r}" for name in names if name in args)[:MOST_VALUES]


def _note(release: str | None, context: LaunchContext, where: str) -> str:
    server = context.sglang_version
    if release is None or server is None or _written_by(release, server):
        return ""
    return f"as SGLang {release}{where} has it; the log is of {server}"
