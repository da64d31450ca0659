"""The `server_args=` line: SGLang's arguments as one server printed them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from explain.expressions import expression

_START = expression(r"server_args=(?P<open>ServerArgs\(|\{)")
_LONGEST = 256 * 1024


def find_server_args(text: str) -> dict[str, Any] | None:
    """The server arguments of a `server_args=` line, None where the line has none.

    Reads both forms, `ServerArgs(a=1, …)` and `{'a': 1, …}`, from the start as far as the line goes: a line
    that a carrier or a paste cut gives the fields before the cut. A value that is no Python literal (an enum,
    an object) is kept as its text.
    """
    found = _START.search(text)
    if not found:
        return None
    body = text[found.end() : found.end() + _LONGEST]
    separator = "=" if found["open"] == "ServerArgs(" else ":"
    fields: dict[str, Any] = {}
    for piece in _pieces(body):
        name, _, value = piece.partition(separator)
        name = name.strip().strip("'\"")
        if not _ or not name.isidentifier():
            continue
        fields[name] = _value(value.strip())
    return fields or None


def number_of(arguments: Mapping[str, Any], *names: str) -> float | None:
    """The first of these arguments that is a number."""
    for name in names:
        value = arguments.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    return None


def _pieces(body: str) -> Iterator[str]:
    """The text between commas at depth zero, up to the closing bracket. A cut last piece is left out."""
    depth, start, index = 0, 0, 0
    length = len(body)
    while index < length:
        character = body[index]
        if character in "'\"":
            index = _string_end(body, index)
            if index >= length:
                return
        elif character in "([{<":
            depth += character != "<" or body[index + 1 : index + 2].isalpha()
        elif character in ")]}":
            if depth == 0:
                yield body[start:index]
                return
            depth -= 1
        elif character == ">" and depth and body[index - 1] not in "-=":
            depth -= 1
        elif character == "," and depth == 0:
            yield body[start:index]
            start = index + 1
        index += 1


def open_brackets(body: str, state: tuple[int, str] = (0, "")) -> tuple[int, str] | None:
    """How many brackets and which quote are open behind `body`; None where the list's own bracket closed.

    `state` is that behind the text before: a list may stand in several lines.
    """
    depth, quote = state
    index = 0
    while index < len(body):
        character = body[index]
        if quote:
            if character == "\\":
                index += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            if depth == 0:
                return None
            depth -= 1
        index += 1
    return depth, quote


def _string_end(body: str, start: int) -> int:
    quote = body[start]
    index = start + 1
    while index < len(body):
        if body[index] == "\\":
            index += 1
        elif body[index] == quote:
            return index
        index += 1
    return index


_CONSTANTS: dict[str, Any] = {"None": None, "True": True, "False": False}
_NUMERIC = "0123456789+-.e[], "


def _value(text: str) -> Any:
    """The value of a Python literal; the text itself where it is none."""
    # Most are one of these, and need no compiler.
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    inside = text[1:-1]
    if text[:1] in ("'", '"') and text[-1] == text[0] and len(text) > 1 and inside.isascii() and inside.isprintable():
        if "\\" not in inside and text[0] not in inside:
            return inside
    elif text[:1] == "<":
        return text
    elif not text.strip(_NUMERIC):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    import ast

    try:
        value = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, (str, int, float, bool, type(None), list, dict)) else text
