"""Lays out and paints text: width on the terminal, clipping, wrapping, colours. Pure; nothing of ours."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from explain.values import dataclass

TIMES = "\N{MULTIPLICATION SIGN}"

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}


@dataclass(frozen=True, slots=True)
class Painter:
    """Puts colour around text, or does nothing where `color` is false."""

    color: bool

    def paint(self, text: str, *styles: str) -> str:
        """`text` in the given styles ("bold", "dim", "red" …); empty text stays empty."""
        if not self.color or not text or not styles:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"


def character_width(character: str) -> int:
    """The columns a character takes on a terminal: 0, 1 or 2."""
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def text_width(text: str) -> int:
    """The columns a line takes on a terminal."""
    return len(text) if text.isascii() else sum(map(character_width, text))


def clip(text: str, width: int) -> str:
    """`text` in at most `width` columns; an ellipsis stands for what was cut."""
    if len(text) <= width and text_width(text) <= width:
        return text
    return take(text, width - 1)[0].rstrip() + "…" if width > 0 else ""


def clip_left(text: str, width: int) -> str:
    """The end of `text` in at most `width` columns, from a part of a path on where one begins near."""
    if text_width(text) <= width:
        return text
    kept = take(text[::-1], max(width - 1, 1))[0][::-1]
    part = kept.find("/")
    return "…" + (kept[part:] if 0 <= part < len(kept) // 2 else kept)


def take(text: str, width: int) -> tuple[str, str]:
    """The longest beginning of `text` that fits into `width` columns, and the rest.

    Takes one character at least, so that a caller that loops comes to an end; a long pile of combining
    marks counts as columns once it is higher than anything a language writes.
    """
    used = 0
    for position, character in enumerate(text):
        used += character_width(character)
        if position and (used > width or position >= 4 * max(width, 1)):
            return text[:position], text[position:]
    return text, ""


def wrap(text: str, width: int, *, split: bool = False) -> list[str]:
    """Lines of at most `width` columns, broken at white space; line feeds of `text` are kept.

    A word that is longer than a line overflows, so that an address or a command can be copied; with
    `split` it is broken. A line that starts with white space keeps its indentation on every line.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        body = paragraph.lstrip(" ")
        indent = " " * min(len(paragraph) - len(body), max(width // 3, 0))
        bullet = re.match(r"(?:[-*•]|\d{1,2}[.)]) +", body)
        hanging = indent + " " * (len(bullet.group()) if bullet else 0)
        lines += _fill(body.split(" "), indent, hanging, width, split)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def fold(text: str, width: int) -> list[str]:
    """The lines of `text`, those that are too long broken at white space, and all else as it is: unlike with `wrap`
    blanks between words stay, as in a pattern or a quoted line they mean something.

    A word is broken only where it is longer than a line. What goes on stands under the beginning of its line, or
    of what follows a short label there (`pattern   …`).
    """
    lines: list[str] = []
    for rest in text.split("\n"):
        label = re.match(r" *(?:[a-z]{1,8} {2,})?", rest)
        least = label.end() if label else 0
        lead, hanging = "", " " * (least if least <= width // 2 else 0)
        while text_width(rest) > width - len(lead) > 0:
            room = width - len(lead)
            end = take(rest, room + 1)[0].rfind(" ")
            if end <= least:
                end = len(_break(rest, room, "/,;=&|")[0])  # a backslash of a pattern belongs to what follows
            lines.append(lead + rest[:end].rstrip(" "))
            rest, lead, least = rest[end:].lstrip(" "), hanging, 0
        lines.append(lead + rest)
    return lines


def _fill(words: list[str], indent: str, hanging: str, width: int, split: bool) -> list[str]:
    lines: list[str] = []
    current, used = "", 0
    lead = indent
    for word in filter(None, words):
        size = text_width(word)
        room = width - len(lead)
        if current and used + 1 + size > room:
            lines.append(lead + current)
            lead, current, used = hanging, "", 0
            room = width - len(lead)
        while split and size > room > 0:
            piece, word = _break(word, room)
            lines.append(lead + piece)
            lead, room, size = hanging, width - len(hanging), text_width(word)
        current, used = (f"{current} {word}", used + 1 + size) if current else (word, size)
    lines.append(lead + current if current else "")
    return lines


def _break(word: str, room: int, marks: str = "/\\,;=&|") -> tuple[str, str]:
    """A long word in two, broken behind a mark that ends a part of a path or a list where one is near."""
    piece, rest = take(word, room)
    end = max(map(piece.rfind, marks)) + 1
    if rest and end > len(piece) - 24 and end > len(piece) // 2:
        return word[:end], word[end:]
    return piece, rest


def shorten(lines: list[str], limit: int) -> list[str]:
    """At most `limit` lines, cut at the end of a sentence where one ends not far above the limit."""
    if len(lines) <= limit or limit < 1:
        return lines
    kept = lines[:limit]
    for row in range(limit - 1, max(limit - 3, -1), -1):
        end = max(kept[row].rfind(stop) for stop in (". ", "! "))
        if kept[row].endswith((".", "!")):
            return kept[: row + 1]
        if end > 0:
            return [*kept[:row], kept[row][: end + 1]]
    return [*kept[:-1], kept[-1].rstrip(" .,;:") + " …"]


def sentence_list(words: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    items = list(words)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def plural(count: int, one: str, many: str = "") -> str:
    """ "1 line", "1,204 lines"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
