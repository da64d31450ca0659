"""The verdict on one finding, for a terminal: what failed, where, why, what to do, what came of it."""

from __future__ import annotations

import re

from explain.model import Finding, LaunchContext, Report
from explain.render import places, safe
from explain.render.context import context_parts, dropped_part, ranks_words
from explain.render.layout import (
    INDENT,
    LABEL,
    MAX_PROSE,
    NO_SOURCE,
    OwnSource,
    Part,
    code_part,
    example,
    fixes,
    guard_part,
    lay_out,
    rule,
)
from explain.render.text import TIMES, Painter, clip, plural, shorten, wrap
from explain.values import dataclass

SCREEN = 44
"""Lines that a verdict may take: it must stand on one screen, above the next prompt."""

_ROLE_STYLE = {"cause": "red", "consequence": "blue", "warning": "yellow", "noise": "dim"}
_MANY = 10_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How many lines each part may take."""

    error: int = 6
    meaning: int = _MANY
    trigger: int = _MANY
    situations: int = _MANY
    example: int = _MANY
    consequences: int = 6
    links: int = 3
    frames: int = 4
    prevention: int = 0
    code: int = 7


# Tried in this order until the verdict fits on the screen. Fixes are never cut.
_STEPS = (
    Limits(),
    Limits(error=4, meaning=8, trigger=6, situations=4, example=14, consequences=4, links=2),
    Limits(error=3, meaning=6, trigger=4, situations=2, example=10, consequences=3, links=1, code=5),
    Limits(error=3, meaning=5, trigger=3, situations=0, example=8, consequences=2, links=1, code=3),
    Limits(error=2, meaning=3, trigger=2, situations=0, example=5, consequences=1, links=1, code=1),
)
_FULL = Limits(error=40, consequences=_MANY, links=_MANY, frames=_MANY, prevention=_MANY, code=_MANY)


def style_of(finding: Finding) -> str:
    """The colour of a finding's role."""
    return _ROLE_STYLE[finding.role]


def title_of(finding: Finding) -> str:
    """What to call a finding: the record's title, else the error itself, as one line."""
    if finding.record and finding.record.title:
        return safe.line(finding.record.title)
    return error_of(finding)


def error_of(finding: Finding) -> str:
    """The error of a finding as one line, whatever record explains it."""
    function = finding.frames[-1].function if finding.frames else ""
    if finding.exception and not finding.message.strip() and function:
        return f"{places.error_words(finding)} in {safe.line(function)}"
    return places.error_words(finding) or (
        "A traceback that ends before its exception" if finding.kind == "traceback" else "An error without a message"
    )


def verdict(
    report: Report,
    index: int,
    *,
    width: int,
    painter: Painter,
    full: bool = False,
    source: OwnSource = NO_SOURCE,
) -> list[str]:
    """The lines of the verdict on finding `index`, its rule and title first. `source` is what the user's copy
    has there.

    Fits `SCREEN` lines unless `full` is set or the fixes alone are longer; where prose had to go, the
    last line says how to see all of it.
    """
    finding = report.findings[index]
    room = min(width, MAX_PROSE) - INDENT - LABEL
    body: list[str] = []
    for step in (_FULL,) if full else _STEPS:
        body = lay_out(_parts(report, index, step, room, source), painter)
        if finding.record and step not in (_FULL, _STEPS[0]):
            body += lay_out([Part("More", (f"sglang-explain show {finding.record.slug}",))], painter)
        if len(body) + 3 <= SCREEN:
            break
    known = finding.record or finding.site
    heading = finding.role.upper() if known else f"{finding.role.upper()}, not in the catalogue"
    titles = wrap(title_of(finding), min(width, MAX_PROSE) - INDENT, split=True)
    return [
        rule(heading, width, painter, style_of(finding)),
        *(" " * INDENT + painter.paint(line, "bold") for line in shorten(titles, 2)),
        "",
        *body,
    ]


def _parts(report: Report, index: int, limits: Limits, room: int, source: OwnSource) -> list[Part]:
    finding = report.findings[index]
    return [
        part
        for part in (
            *_facts(report, finding, limits, room),
            code_part(source.code, room, limits.code),
            guard_part(source, room),
            *_explanation(finding, limits, room),
            *_links(finding, limits, room, report.context.sglang_version),
            *_aftermath(report, index, limits, room),
        )
        if part.lines
    ]


def _facts(report: Report, finding: Finding, limits: Limits, room: int) -> list[Part]:
    where = ", ".join(filter(None, (places.place_words(finding.first), places.time_words(finding))))
    error = places.error_words(finding)
    lines: list[str] = []
    if title_of(finding) != error or len(error) > 2 * room:
        lines = wrap(error[:_MANY], room, split=True)
        if len(lines) > limits.error:
            last = lines[limits.error - 1].rstrip(" .,;:")
            lines = [*lines[: limits.error - 1], f"{clip(last, room - 2).rstrip('…')} …"]
    return [
        Part("Where", tuple(wrap(where, room, split=True))),
        Part("Ranks" if any(finding.ranks) else "Count", tuple(wrap(ranks_words(finding), room))),
        *_stack(finding, limits, room),
        Part("Error", tuple(lines)),
        Part("Server", tuple(wrap(server_words(report.context), room))),
        *context_parts(report.context, finding, room, lead=finding is report.findings[0]),
    ]


def _stack(finding: Finding, limits: Limits, room: int) -> list[Part]:
    """Where it was raised, SGLang's part in it, and for an error without a record who called that."""
    stack = [places.frame_words(frame) for frame in finding.frames]
    raised = stack[-1] if stack else ""
    ours = places.frame_words(finding.frame) if finding.frame else ""
    if not raised and not ours and finding.site:
        ours = places.site_words(finding.site)
    parts = [Part("Raised", tuple(wrap(raised or ours, room, split=True)))]
    if raised and ours and ours != raised:
        parts.append(Part("SGLang", tuple(wrap(ours, room, split=True))))
    if finding.record is None:
        callers = [words for words in reversed(stack[:-1]) if words != ours]
        shown = callers[: limits.frames]
        if len(callers) > len(shown):
            shown.append(f"… {plural(len(callers) - len(shown), 'frame')} above")
        parts.append(Part("From", tuple(clip(line, room) for line in shown), styles=("dim",) * len(shown)))
    return parts


def _explanation(finding: Finding, limits: Limits, room: int) -> list[Part]:
    record = finding.record
    if record is None:
        return _without_record(finding, room)
    situations = wrap(safe.block(record.common_situations), room) if limits.situations else []
    why = wrap(safe.block(record.trigger_scenarios), room)
    parts = [
        Part(
            "Meaning",
            tuple(shorten(wrap(safe.block(record.documentation), room), limits.meaning)),
            loose=True,
        ),
        Part("Why", tuple(shorten(why, limits.trigger)), loose=True),
        Part("Typical", tuple(shorten(situations, limits.situations))),
        fixes(finding.solutions or record.solutions, room),
        dropped_part(finding.dropped, room),
    ]
    if record.example_fix:
        parts.append(example(record.example_fix, room, limits.example))
    if limits.prevention:
        tips = [line for tip in record.prevention_tips for line in wrap(f"- {safe.block(tip)}", room)]
        parts.append(Part("Prevent", tuple(tips), loose=True))
    if finding.confidence < 0.6:
        doubt = "The match is not certain: compare the error above with the title before you act on it."
        parts.insert(0, Part("Doubt", tuple(wrap(doubt, room)), loose=True))
    return parts


def _without_record(finding: Finding, room: int) -> list[Part]:
    if finding.site:
        text = (
            "SGLang itself raises this at the place above. Nobody has written an explanation for it yet: the "
            "message, the code at that place and the releases that have it are what is known."
        )
    else:
        text = "Neither a record nor SGLang's own messages explain this error."
        if finding.frames:
            text += " The frames above lead from the place where it was raised to its callers."
    parts = [Part("Meaning", tuple(wrap(text, room)), loose=True)]
    near = [line for words in finding.near[:3] for line in shorten(wrap(safe.line(words), room, split=True), 3)]
    if any("[-" in words or "{+" in words for words in finding.near):
        near += wrap("([-…-] are the words of the known message, {+…+} those of this log)", room)
    return [*parts, Part("Nearest", tuple(near), loose=True), Part("Search", (search_link(finding),), loose=True)]


def search_link(finding: Finding) -> str:
    """A search of SGLang's issues for the words of the error; what may differ from run to run is left out."""
    from urllib.parse import quote_plus

    words = re.findall(r"(?<![\w/*.'-])[A-Za-z_]{2,}(?![\w/*'])", safe.line(finding.message[:2_000]))
    if not words and finding.frames:
        words = [safe.line(finding.frames[-1].function)]
    name = safe.line(finding.exception or "").rpartition(".")[2]
    return "https://github.com/sgl-project/sglang/issues?q=" + quote_plus(" ".join([name, *words[:10]]).strip())


def _links(finding: Finding, limits: Limits, room: int, server: str | None) -> list[Part]:
    record, site = finding.record, finding.site
    if record and site and not places.written_by(site, server):
        site = None  # Other words for it: what is known of those would contradict the line above.
    links = [record.github_url] if record and record.github_url else [places.site_link(site)] if site else []
    links += record.references if record else []
    shown = tuple(safe.line(link) for link in links[: limits.links] if link)
    release = places.release_words(site) if site else ""
    if site and site.gone and not record:
        release += ": upgrading may be the fix"
    moves = site.moves if site and (record is None or limits is _FULL) else ()
    moved = [f"In other releases: {safe.line(move)}" for move in moves[: limits.links]]
    lines = [line for text in (release, *moved) for line in wrap(text, room, split=True)]
    parts = [Part("Release", tuple(lines), loose=True)]
    return [*parts, Part("Source", shown, loose=not release)]


def _aftermath(report: Report, index: int, limits: Limits, room: int) -> list[Part]:
    followed = [finding for finding in report.findings if finding.caused_by == index]
    lines = [one_line(report, finding, room) for finding in followed[: limits.consequences]]
    if len(followed) > len(lines):
        lines.append(f"… and {plural(len(followed) - len(lines), 'more')}".replace("mores", "more"))
    return [Part("Led to", tuple(lines), loose=True)]


def one_line(report: Report, finding: Finding, room: int, *, ranks: bool = False) -> str:
    """A finding on one line: how often, what, where, on request on which ranks; a line number is not cut."""
    where = places.short_place(finding.first, report.sources, room // 2)
    place = f" ({', '.join(filter(None, (where, places.rank_words(finding.ranks, 3) if ranks else '')))})"
    count = f"{finding.count:,} {TIMES} " if finding.count > 1 else ""
    return clip(f"{count}{title_of(finding)}", max(room - len(place), 8)) + place


def server_words(context: LaunchContext) -> str:
    """The server in a few words: release, model, parallel sizes. Empty where the log tells nothing."""
    arguments = context.server_args
    words = [f"SGLang {safe.line(context.sglang_version)}"] if context.sglang_version else []
    if arguments.get("model_path"):
        words.append(safe.line(str(arguments["model_path"])))
    for name in ("tp", "dp", "pp", "ep"):
        size = arguments.get(f"{name}_size")
        if isinstance(size, int) and size > 1:
            words.append(f"--{name} {size}")
    return ", ".join(words)
