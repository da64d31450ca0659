"""Log stores' exports with one field a line, once a server's line proved them to be that."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import is_surely_a_server
from explain.expressions import expression
from explain.model import Stripped

NAME = "json-pretty"
STARTS = ' \t{}[]"'
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = (
    ('    "textPayload": "[2026-11-30 08:14:58] Hello",', (Stripped("[2026-11-30 08:14:58] Hello"),)),
    (
        '    "message": "Traceback (most recent call last):\\n"',
        (Stripped("Traceback (most recent call last):"),),
    ),
)

_TEXT = expression(r'\s*"(?:textPayload|message|msg|log|line|MESSAGE|@message)": (?="[^\n]*",?\s*$)')
_OTHER = expression(r'\s*(?:"[\w@./-]{1,100}": |[\[\]{}]+,?\s*$)')
_PROVED = (NAME, "")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _TEXT.match(line)
    if found is None:
        return [] if _PROVED in memory.known and _OTHER.match(line) else None
    import orjson

    try:
        value = orjson.loads(line[found.end() :].rstrip().removesuffix(","))
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return None
    text = str(value).removesuffix("\n")
    if _PROVED not in memory.known:
        if not is_surely_a_server(text):
            return None
        memory.known.add(_PROVED)
    return [Stripped(text)]
