"""A `messagePattern` from a template or from one message: runtime values become slots."""

from __future__ import annotations

import re
from collections.abc import Iterable

from explain.templates import Slot, parsed

SLOT_PATTERNS = {"int": r"-?\d+", "float": r"-?[\d.]+(?:e[-+]?\d+)?", "repr": r"[^\n]+?"}
ANY_TEXT = r"[^\n]*?"

VALUES = re.compile(
    r"(?P<address>0x[0-9a-f]+)"
    r"|(?P<size>\d+(?:\.\d+)? ?(?:[KMGT]i?B|bytes)\b)"
    r"|(?P<path>(?<![\w.])(?:/[\w.@+-]+){2,}/?)"
    r"|(?P<time>\d+(?:\.\d+)? ?(?:s|ms|seconds|milliseconds)\b)"
    r"|(?P<quoted>(?<!\w)'[^'\n]*'|(?<!\w)\"[^\"\n]*\")"
    r"|(?P<number>(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w))"
)
VALUE_PATTERNS = {
    "address": "0x[0-9a-f]+",
    "size": r"\d+(?:\.\d+)? ?[KMGT]?i?[Bb](?:ytes)?",
    "path": r"\S+",
    "time": r"\d+(?:\.\d+)? ?\w+",
    "number": r"-?\d+(?:\.\d+)?",
}
LONGEST_MESSAGE = 400


def pattern_of_template(template: str) -> str:
    """The expression for a template of the site index: its named slots become named groups."""
    names: set[str] = set()
    parts = parsed(template)
    pieces = []
    for number, part in enumerate(parts):
        if isinstance(part, str):
            pieces.append(escaped(part))
            continue
        inner = SLOT_PATTERNS.get(part.type, ANY_TEXT)
        if number == len(parts) - 1 and inner == ANY_TEXT:
            inner = r"[^\n]*"
        pieces.append(slot(part, inner, names))
    return "".join(pieces)


def slot(part: Slot, inner: str, names: set[str]) -> str:
    name = re.sub(r"\W+", "_", part.name).strip("_").lower()
    if not name or name in names or not name[0].isalpha():
        return inner if inner.startswith("[") else f"(?:{inner})"
    names.add(name)
    return f"(?P<{name}>{inner})"


def pattern_of_message(message: str) -> str:
    """The expression for one message: its numbers, sizes, paths, times and quoted values become slots.

    Only the first lines count, where a message is long.
    """
    text = message[:LONGEST_MESSAGE]
    if len(message) > LONGEST_MESSAGE:
        text = text.rpartition("\n")[0] or text
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterable[str]:
    position = 0
    for found in VALUES.finditer(text):
        yield escaped(text[position : found.start()])
        position = found.end()
        kind = found.lastgroup or "number"
        if kind == "quoted":
            quote = found.group()[0]
            yield f"{quote}[^{quote}]*{quote}"
        else:
            yield VALUE_PATTERNS[kind]
    yield escaped(text[position:])


def escaped(text: str) -> str:
    """The text as an expression that matches it: only what has a meaning is escaped."""
    return re.sub(r"([\\.^$*+?()\[\]{}|])", r"\\\1", text).replace("\n", "\\n")
