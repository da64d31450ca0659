"""The `text` of a notebook's output: one JSON string a line, once a server's line proved it to be one."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import is_surely_a_server
from explain.model import Stripped

NAME = "notebook"
STARTS = ' "\t'
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = (
    ('      "Traceback (most recent call last):\\n",', (Stripped("Traceback (most recent call last):"),)),
    ('"[2026-11-30 08:14:58] Hello\\n",', (Stripped("[2026-11-30 08:14:58] Hello"),)),
)


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    text = line.strip()
    if len(text) < 2 or text[0] != '"':
        return None
    body = text.removesuffix(",")
    label = (NAME, "")
    if len(body) < 2 or body[-1] != '"' or not (body.endswith('\\n"') or label in memory.known):
        return None
    import orjson

    try:
        value = orjson.loads(body)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return None
    content = str(value).removesuffix("\n")
    if label not in memory.known:
        if not is_surely_a_server(content):
            return None
        memory.known.add(label)
    return [Stripped(content)]
