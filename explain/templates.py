"""Message templates: literal text with typed slots, written as text, matched without a regex.

The notation is that of `str.format`: `{name}` or `{name:type}` is a slot, `{{` and `}}` are braces. Types are
`int`, `float`, `repr` and none (any text, line ends included). A template is matched like a shell glob: each
literal at its leftmost place after the one before it, which finds a match whenever there is one, in linear
time, whatever the message holds. Only where a typed slot then disagrees are later places tried, within a
bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from explain.expressions import expression
from explain.values import dataclass

NOTATION = expression(r"\{\{|\}\}|\{(?P<name>\w*)(?::(?P<type>int|float|repr))?\}")
ANSI = expression(r"\x1b\[[0-9;]*m")
TYPES = {
    "int": expression(r"[-+]?[\d,_]+|None|\?"),
    "float": expression(r"[-+]?(?:[\d,_]+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf|nan)%?|None|\?"),
}
ESCAPE = expression(r"\\([nrt'\"\\])")
STEPS = 2000


@dataclass(frozen=True, slots=True)
class Slot:
    """A runtime value in a message. `name` may be empty."""

    name: str = ""
    type: str = ""


Part = str | Slot


def joined(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts with neighbouring literals (and neighbouring slots) merged and empty literals left out."""
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, str):
            if not part:
                continue
            if isinstance(last, str):
                merged[-1] = last + part
                continue
        elif isinstance(last, Slot):
            merged[-1] = Slot(last.name or part.name)
            continue
        merged.append(part)
    return tuple(merged)


def written(parts: Sequence[Part]) -> str:
    """The parts in the notation of this module."""
    return "".join(
        part.replace("{", "{{").replace("}", "}}")
        if isinstance(part, str)
        else "{" + re.sub(r"\W", "_", part.name) + (f":{part.type}" if part.type else "") + "}"
        for part in parts
    )


@lru_cache(maxsize=4096)
def parsed(template: str) -> tuple[Part, ...]:
    """The parts that `written` wrote."""
    parts: list[Part] = []
    position = 0
    for found in NOTATION.finditer(template):
        parts.append(template[position : found.start()])
        position = found.end()
        text = found.group()
        parts.append(text[0] if text in ("{{", "}}") else Slot(found["name"], found["type"] or ""))
    parts.append(template[position:])
    return joined(parts)


def anonymous(template: str) -> str:
    """The template with nameless, typeless slots: what stays the same when a variable is renamed."""
    return NOTATION.sub(lambda found: found.group() if found.group() in ("{{", "}}") else "{}", template)


def loosened(template: str, other: str) -> str:
    """The template with the types that `other`, the same but for names and types, has as well."""
    types = [part.type if isinstance(part, Slot) else "" for part in parsed(other)]
    return written(
        [
            Slot(part.name, part.type if part.type == kind else "") if isinstance(part, Slot) else part
            for part, kind in zip(parsed(template), types, strict=True)
        ]
    )


def literal_length(template: str) -> int:
    """How many characters of the template are fixed, blanks at the ends and between words included once."""
    return sum(len(" ".join(part.split())) for part in parsed(template) if isinstance(part, str))


def match(template: str, message: str, *, whole: bool = True) -> dict[str, str] | None:
    """The values of the slots when the message is the template's, else None.

    With `whole` false the message may go on in further lines after the template ends. Blanks at the ends of
    a message do not count; where the exact text does not match, runs of blanks count as one, since pastes
    wrap lines.
    """
    parts = parsed(template)
    captures = _glob(parts, message.strip(), whole)
    if captures is None and ("\n" in message or "  " in message or "\n" in template or "  " in template):
        folded = joined(re.sub(r"\s+", " ", part) if isinstance(part, str) else part for part in parts)
        captures = _glob(folded, " ".join(message.split()), whole)
    return captures


def unquoted(message: str) -> str:
    """The text that `repr` printed as `message`; the message itself where it is not quoted."""
    message = message.strip()
    if len(message) > 1 and message[0] in "'\"" and message[-1] == message[0]:
        return ESCAPE.sub(lambda found: {"n": "\n", "t": "\t", "r": "\r"}.get(found[1], found[1]), message[1:-1])
    return message


def _glob(parts: tuple[Part, ...], text: str, whole: bool) -> dict[str, str] | None:
    trimmed = list(parts)
    if trimmed and isinstance(trimmed[0], str):
        trimmed[0] = trimmed[0].lstrip()
    if trimmed and isinstance(trimmed[-1], str):
        trimmed[-1] = trimmed[-1].rstrip()
    elif len(trimmed) > 1 and isinstance(trimmed[-2], str) and text.endswith(trimmed[-2].rstrip()):
        text += trimmed[-2][len(trimmed[-2].rstrip()) :]  # an empty last value lost the blanks before it
    values = _values(trimmed, 0, text, 0, whole, [STEPS])
    if values is None:
        return None
    captures: dict[str, str] = {}
    slots = [part for part in trimmed if isinstance(part, Slot)]
    for number, (slot, value) in enumerate(zip(slots, values, strict=True)):
        name = slot.name or f"value{number + 1}"
        while name in captures:
            name = f"{name}_{number + 1}"
        captures[name] = value
    return captures


def _values(
    parts: Sequence[Part],
    index: int,
    text: str,
    position: int,
    whole: bool,
    steps: list[int],
) -> list[str] | None:
    """The slot values from part `index` on, the text read from `position`; None where it does not match."""
    if index == len(parts):
        rest = text[position:]
        return [] if not rest or (not whole and rest.startswith("\n")) else None
    part = parts[index]
    if isinstance(part, str):
        if not text.startswith(part, position):
            return None
        return _values(parts, index + 1, text, position + len(part), whole, steps)
    following = parts[index + 1] if index + 1 < len(parts) else None
    if following is None:
        return [text[position:]] if _fits(part, text[position:]) else None
    assert isinstance(following, str)
    last = index + 2 == len(parts)
    start = position
    while True:
        steps[0] -= 1
        if steps[0] < 0:
            return None
        if last and whole:
            start = len(text) - len(following)
            if start < position or not text.endswith(following):
                return None
        else:
            start = text.find(following, start)
            if start < 0:
                return None
        value = text[position:start]
        fits = _fits(part, value)
        if fits:
            later = _values(parts, index + 2, text, start + len(following), whole, steps)
            if later is not None:
                return [value, *later]
        if (last and whole) or (fits and not _typed_later(parts, index + 2) and whole):
            return None
        start += 1


def _fits(slot: Slot, value: str) -> bool:
    pattern = TYPES.get(slot.type)
    return pattern is None or pattern.fullmatch(value.strip()) is not None


def _typed_later(parts: Sequence[Part], index: int) -> bool:
    return any(isinstance(part, Slot) and part.type in TYPES for part in parts[index:])
