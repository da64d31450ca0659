"""A traceback as a server prints it, taken at once: its header behind a stamp, frames and their code, the exception.

Only where its end is sure: behind it begins the server's next line.
"""

from __future__ import annotations

from typing import NamedTuple

from explain.expressions import expression
from explain.plainlines import CHARACTERS, EXCEPTION, STAMP
from explain.tracebacks import HEADER, is_exception_line

_HEADER = HEADER.encode() + b":"
_BARE_LINE = STAMP + rb"[A-Za-z#]" + CHARACTERS + rb"*\n"
_FRAME = rb'  File "[^"\n\r]{1,400}", line [^\n\r]{1,400}\n(?:    [^\n\r]{0,4000}\n){0,4}'
_WHOLE = expression(
    _BARE_LINE + rb"(?:" + _FRAME + rb"){1,100}" + rb"(?P<exception>" + EXCEPTION + rb")\n\n?(?=" + _BARE_LINE + rb")"
)


class Whole(NamedTuple):
    """An entry that is one traceback: its lines, and where they end in the data, an empty last one included.

    `place` numbers the exception's line among them.
    """

    texts: list[str]
    end: int
    exception: str
    place: int


def whole_traceback(data: bytes, position: int) -> Whole | None:
    """The traceback whose header is the line at `position`, None where another line is or its end is not sure."""
    stop = data.find(b"\n", position)
    if not data.endswith(_HEADER, position, stop):
        return None
    found = _WHOLE.match(data, position)
    if found is None:
        return None
    exception = found["exception"].decode("ascii")
    if not is_exception_line(exception):
        return None
    texts = data[position : found.end() - 1].decode("utf-8", "replace").split("\n")
    return Whole(texts, found.end(), exception, len(texts) - (2 if texts[-1] == "" else 1))
