"""A record as a page on a terminal, and lists of records."""

from __future__ import annotations

from collections.abc import Sequence

from explain.model import Record
from explain.render import safe
from explain.render.layout import INDENT, LABEL, MAX_PROSE, Part, example, fixes, lay_out, rule
from explain.render.text import Painter, clip, plural, text_width, wrap

TITLE = 60
"""Columns that most titles need."""
_MANY = 10_000


def render_record(record: Record, related: Sequence[Record] = (), *, width: int, color: bool) -> str:
    """Everything a record says, in the order in which someone who has the error needs it."""
    painter = Painter(color)
    width = max(width, 40)
    room = min(width, MAX_PROSE) - INDENT - LABEL

    def prose(label: str, text: str) -> Part:
        return Part(label, tuple(wrap(safe.block(text), room)), loose=True)

    facts = [record.severity, record.role, record.error_class or "", record.area]
    place = record.file_path or ""
    if place and record.line_number:
        place += f":{record.line_number}"
    links = [*([record.github_url] if record.github_url else []), *record.references]
    parts = [
        Part("Record", (*wrap(f"{record.slug} ({record.id})", room), *wrap(", ".join(filter(None, facts)), room))),
        Part("Message", tuple(wrap(safe.block(record.error_message), room, split=True))),
        Part("Place", (safe.line(place),) if place else ()),
        prose("Meaning", record.documentation),
        prose("Why", record.trigger_scenarios),
        prose("Typical", record.common_situations),
        fixes(record.solutions, room),
        example(record.example_fix, room, _MANY) if record.example_fix else Part("", ()),
        Part("Prevent", _bullets(record.prevention_tips, room), loose=True),
        Part(
            "Not this",
            _bullets([_near_miss(miss.lines, miss.because) for miss in record.near_misses], room),
            loose=True,
        ),
        Part("See also", tuple(clip(f"{one.slug}: {one.title}", room) for one in related), loose=True),
        Part("Tags", tuple(wrap(", ".join(record.tags), room)), loose=True),
        Part("Source", tuple(safe.line(link) for link in links)),
    ]
    style = {"warning": "yellow", "info": "blue"}.get(record.severity, "red")
    title = wrap(safe.line(record.title), min(width, MAX_PROSE) - INDENT)
    lines = [
        rule(record.severity.upper(), width, painter, style),
        *(" " * INDENT + painter.paint(line, "bold") for line in title),
        "",
        *lay_out([part for part in parts if part.lines], painter),
    ]
    return "\n".join(lines) + "\n"


def render_list(records: Sequence[Record], *, width: int, color: bool, by_area: bool) -> str:
    """Slug and title of each record, under the names of the areas with `by_area`.

    Beside each other where the terminal is wide enough for both; the slug is never cut, so that it can be
    copied.
    """
    painter = Painter(color)
    column = max((text_width(record.slug) for record in records), default=0)
    wide = width >= INDENT + column + 2 + TITLE
    lines: list[str] = []
    area = None
    for record in records:
        if by_area and record.area != area:
            area = record.area
            lines.append(painter.paint(safe.line(area or "no area"), "bold"))
        slug, title = safe.line(record.slug), safe.line(record.title)
        shown = f"{' ' * INDENT}{painter.paint(slug, 'cyan')}"
        if wide:
            first, *rest = wrap(title, width - INDENT - column - 2, split=True) or [""]
            lines.append(f"{shown}{' ' * (column - text_width(slug) + 2)}{first}".rstrip())
            lines += [f"{' ' * (INDENT + column + 2)}{line}" for line in rest]
        else:
            rest = wrap(title, width - INDENT - 4, split=True)
            lines += [shown, *(f"{' ' * (INDENT + 4)}{line}" for line in rest)]
    return "\n".join([*lines, plural(len(records), "record")]) + "\n"


def _bullets(texts: Sequence[str], room: int) -> tuple[str, ...]:
    return tuple(line for text in texts for line in wrap(f"- {safe.block(text)}", room))


def _near_miss(lines: Sequence[str], because: str) -> str:
    first = clip(safe.line(lines[-1]), 160) if lines else ""
    return f"{first}: {because}"
