"""A server's own lines that are surely nothing, told by their bytes: most of those around an error.

Such a line begins with the server's stamp and holds nothing that a carrier may have left, nothing that makes it an
error, and none of our literals, which is for the caller to know.
"""

from __future__ import annotations

from typing import NamedTuple

from explain.expressions import expression
from explain.prefixes import RANK
from explain.tracebacks import is_exception_line

STAMP = rb"\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?: " + RANK.encode() + rb"){0,8}\] "
CHARACTERS = rb"[ !#-%'-Z\]^_a-~]"
"""Printable ones without those of quoting, escaping and marking up."""
_ACCESS = (
    rb"INFO: +[\d.]{7,15}:\d{1,5} - \"(?:GET|POST|PUT|HEAD|OPTIONS|DELETE|PATCH) /[\w/.%-]{0,200} HTTP/\d\.\d\" \d{3} "
    rb"[A-Za-z ]+\Z"
)
"""What the server's access log says of a request."""
_BARE = expression(STAMP + rb"(?:(?=[A-Za-z#]" + CHARACTERS + rb"*\Z)|(?P<access>(?=" + _ACCESS + rb")))")
EXCEPTION = rb"[A-Za-z_][\w.]*(?:Error|Exception): " + CHARACTERS + rb"*"
_EXCEPTION = expression(EXCEPTION + rb"\Z")
_SEVERAL = expression(rb"(?:" + STAMP + rb"[A-Za-z#][\w.#/-]* " + CHARACTERS + rb"*\n){2,40}")
"""Lines whose first word is surely no class of exceptions and no level."""
_LEVELS = ("INFO", "WARNING", "ERROR", "CRITICAL", "DEBUG")
_NEVER = (b"rror: ", b"hread ", b" pid=")
"""What may make such a line an error, a dump or an actor's all the same."""


def is_bare(data: bytes) -> bool:
    """Whether no carrier can have left anything in a line."""
    return _BARE.match(data) is not None


def ends_traceback(data: bytes) -> bool:
    """Whether a line that came through no carrier, as those before it did, can only end a traceback."""
    return not data or _EXCEPTION.match(data) is not None


def plain_text(data: bytes) -> str | None:
    """The text of a line that is surely nothing, None for any other."""
    found = _BARE.match(data)
    if found is None or any(mark in data for mark in _NEVER):
        return None
    text = data.decode("ascii")
    if found["access"] is not None:
        return text
    rest = text[found.end() :]
    return None if rest.startswith(_LEVELS) or is_exception_line(rest) else text


class PlainLines(NamedTuple):
    """Several lines that are surely nothing: their text, where they end in the data, where the last one begins."""

    text: str
    end: int
    last: int


def plain_lines(data: bytes, position: int, end: int) -> PlainLines | None:
    """The lines from `position` on, up to `end` at most, that are surely nothing; None for fewer than two."""
    found = _SEVERAL.match(data, position, end) if end > position else None
    if found is None or any(mark in found[0] for mark in _NEVER):
        return None
    return PlainLines(found[0].decode("ascii"), found.end(), data.rfind(b"\n", position, found.end() - 1) + 1)
