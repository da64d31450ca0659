"""A log squeezed into one line: escapes instead of line ends, a value of a Python or JSON object.

Only where the escapes give a traceback or a server's lines back. Lines that hold what users sent are left as
they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from explain.expressions import expression
from explain.model import Stripped

NAME = "escaped"
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = (
    (
        "{'output': 'Traceback (most recent call last):\\n  File \"a.py\", line 1\\nTypeError: \\'x\\''}",
        (Stripped("Traceback (most recent call last):\n  File \"a.py\", line 1\nTypeError: 'x'"),),
    ),
    (
        '{"out": "Traceback (most recent call last):\\n  File \\"a.py\\", line 1, in f\\nKeyError: 1\\n"}',
        (Stripped('Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1'),),
    ),
    (
        'It failed: Traceback (most recent call last):\\n  File \\"a.py\\", line 1, in f\\nKeyError: 1',
        (Stripped('It failed: Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1'),),
    ),
)

_OPENINGS = ('{"', "{'", '["', "['", "[{", "('", '("', '"', "'", "b'", 'b"')
_LONGEST_LITERAL = 1024 * 1024
_DATA = expression(r'(?:Receive|Finish|Receive OpenAI): obj=|server_args=|"event": ?"request\.')
_STAMPED = expression(r"\\n\[20\d\d-\d\d-\d\d ")
_ESCAPE = expression(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)")
_PLAIN = {"n": "\n", "t": "\t", "r": "", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_HEAD = expression(r"[\[{(, ]*(?:b?['\"][^'\"\\]{1,80}['\"]: ?)?[bf]?['\"]")
_TAIL = expression(r"['\"][\]}), ]*$")
_MARKS = ("Traceback (most recent call last):\\n", '\\n  File "', '\\n  File \\"')
_LOG = expression(
    r"Traceback \(most recent call last\):\n|\n(?:  File \"|"
    r"(?:\S{1,60} +\|? ?)?\[?20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d|"
    r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): )"
)


def strip(line: str) -> list[Stripped] | None:
    end = line.find("\\n")
    data = _DATA.search(line, 0, end) if end >= 0 else None
    # Arguments may hold escapes of their own; a stamp behind one is the next line of a log.
    if end < 0 or (data is not None and (data[0] != "server_args=" or not _STAMPED.match(line, end))):
        return None
    if line.startswith(_OPENINGS) and (found := _values(line)):
        return [Stripped(text.removesuffix("\n")) for text in found]
    if not any(mark in line for mark in _MARKS):
        return None
    head = _HEAD.match(line)
    text = line[head.end() :] if head else line
    if head:
        text = _TAIL.sub("", text[-200:]).join((text[:-200], "")) if len(text) > 200 else _TAIL.sub("", text)
    return [Stripped(_ESCAPE.sub(_unescape, text).removesuffix("\n"))]


def _values(line: str) -> list[str]:
    """The texts with a traceback in a JSON or Python literal, [] where it is neither."""
    import orjson

    try:
        value = orjson.loads(line)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        if len(line) > _LONGEST_LITERAL:
            return []
        import ast
        import warnings

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the compiler, on what it reads
                value = ast.literal_eval(line.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return []
    return [text for text in _texts(value) if _LOG.search(text)]


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value; a list of texts is one text, line by line (as notebooks keep them)."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, bytes):
            yield one.decode("utf-8", "replace")
        elif isinstance(one, dict):
            waiting += reversed(list(one.values()))
        elif isinstance(one, list | tuple):
            if one and all(isinstance(part, str) for part in one):
                yield "".join(part if part.endswith("\n") else f"{part}\n" for part in one)
            else:
                waiting += reversed(one)


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(int(code[1:], 16)) if not 0xD800 <= int(code[1:], 16) < 0xE000 else "\ufffd"
    return _PLAIN.get(code, found[0])
