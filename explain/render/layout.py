"""A column of short labels beside the text: the page of verdicts and records on a terminal.

The eye of someone who was woken up looks for "Fix", not for the third paragraph. Lines are painted last.
"""

from __future__ import annotations

from collections.abc import Sequence

from explain.expressions import expression
from explain.render import safe
from explain.render.diff import example_lines
from explain.render.text import Painter, clip, shorten, wrap
from explain.values import dataclass

INDENT = 2
LABEL = 9
MAX_PROSE = 100
"""Prose is set in at most this many columns, however wide the terminal is."""

_CODE = expression(r"`[^`]+`|(?<![\w-])--[a-z][\w-]*")


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of source to show. `here` is true for the one that raised the error."""

    number: int
    text: str
    here: bool


@dataclass(frozen=True, slots=True)
class OwnSource:
    """What the user's own copy of SGLang has at the place of an error.

    It raises where all `conditions` hold; `values` are those of their names that the log shows, `note` says whose
    source it is where that may not be the log's.
    """

    code: Sequence[CodeLine] = ()
    conditions: Sequence[str] = ()
    values: Sequence[str] = ()
    note: str = ""


NO_SOURCE = OwnSource()


@dataclass(frozen=True, slots=True)
class Part:
    """One labelled part. `lines` are plain, `styles` paint them; `loose` asks for a blank line before."""

    label: str
    lines: tuple[str, ...]
    styles: tuple[str, ...] = ()
    loose: bool = False


def rule(text: str, width: int, painter: Painter, style: str) -> str:
    """A line across the page with a few words in it."""
    width = min(width, MAX_PROSE)
    return (
        painter.paint("── ", style)
        + painter.paint(text, "bold", style)
        + painter.paint(" " + "─" * max(width - len(text) - 4, 2), style)
    )


def lay_out(parts: Sequence[Part], painter: Painter) -> list[str]:
    """The parts as printed lines, painted."""
    lines: list[str] = []
    for part in parts:
        if part.loose and lines and lines[-1]:
            lines.append("")
        for row, text in enumerate(part.lines):
            label = painter.paint(part.label, "bold" if part.loose else "dim") if row == 0 else ""
            padding = " " * (LABEL - (len(part.label) if row == 0 else 0))
            style = part.styles[row] if row < len(part.styles) else ""
            shown = painter.paint(text, style) if style else _options(text, painter) if part.loose else text
            lines.append(f"{' ' * INDENT}{label}{padding}{shown}".rstrip())
    return lines


def _options(text: str, painter: Painter) -> str:
    """`text` with its command-line options and code standing out."""
    return _CODE.sub(lambda match: painter.paint(match.group(), "cyan"), text) if painter.color else text


def fixes(solutions: Sequence[str], room: int) -> Part:
    """The numbered fixes, in the order to try."""
    digits = len(str(len(solutions)))
    lines: list[str] = []
    for number, solution in enumerate(solutions, 1):
        first, *rest = wrap(safe.block(solution), room - digits - 2) or [""]
        lines.append(f"{number:>{digits}}. {first}")
        lines += [" " * (digits + 2) + line for line in rest]
    return Part("Fix", tuple(lines), loose=True)


def code_part(code: Sequence[CodeLine], room: int, limit: int) -> Part:
    """Source around a place, the place itself marked; at most `limit` lines, the nearest to it."""
    center = next((row for row, line in enumerate(code) if line.here), 0)
    start = max(min(center - limit // 2, len(code) - limit), 0)
    shown = code[start : start + limit]
    digits = max((len(str(line.number)) for line in shown), default=0)
    lines = tuple(
        clip(f"{line.number:>{digits}} {'>' if line.here else ' '} {safe.clean(line.text)}", room) for line in shown
    )
    return Part("Code", lines, styles=tuple("bold" if line.here else "dim" for line in shown))


def guard_part(source: OwnSource, room: int) -> Part:
    """When the place of the error raises, one condition a line, with the values that the log shows."""
    lines = []
    for number, condition in enumerate(source.conditions):
        last = number == len(source.conditions) - 1
        lines += shorten(wrap(safe.line(condition) + ("" if last else ", and"), room, split=True), 3)
    for words in (f"server arguments of these names: {', '.join(source.values)}" if source.values else "", source.note):
        lines += wrap(safe.line(f"({words})"), room, split=True) if words else []
    return Part("If", tuple(lines))


def example(text: str, room: int, limit: int) -> Part:
    """The example fix as a difference."""
    lines = example_lines(safe.clean(text), room - 2)
    if len(lines) > limit:
        changed = [line for line in lines if line.sign != " "]
        lines = (changed or lines)[:limit]
    compared = any(line.sign != " " for line in lines)
    colors = {"-": "red", "+": "green", " ": "dim" if compared else ""}
    return Part(
        "Example",
        tuple(f"{line.sign} {line.text}".rstrip() for line in lines),
        styles=tuple(colors[line.sign] for line in lines),
        loose=True,
    )
