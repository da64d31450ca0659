"""One JSON record a line: docker's json-file, log stores and shippers, Python loggers, bodies of refusals.

Strict: the whole line must be JSON and hold a message under a known name; several objects may share a line.
"""

from __future__ import annotations

import json
from typing import Any

from explain.carriers.json_values import error_body, is_docker, pieces
from explain.carriers.memory import Memory
from explain.carriers.stamps import is_surely_a_server
from explain.model import Stripped

NAME = "json"
STARTS = "{["
SAMPLES = (
    (
        '{"log":"[2026-11-30 08:16:10 TP0] Hello\\n","stream":"stderr","time":"2026-11-30T08:16:10Z"}',
        (Stripped("[2026-11-30 08:16:10 TP0] Hello", "stderr", "2026-11-30T08:16:10Z"),),
    ),
    (
        '{"log":"a\\n","stream":"stdout","time":"t"} {"log":"b","stream":"stdout","time":"t"}',
        (Stripped("a", "stdout", "t"), Stripped("b", "stdout", "t", partial=True)),
    ),
    (
        '{"__REALTIME_TIMESTAMP":"1796026498000000","MESSAGE":[72,27,91,109],"_PID":"7","SYSLOG_IDENTIFIER":"py"}',
        (Stripped("H\x1b[m", "py[7]", "2026-11-30T08:14:58+00:00"),),
    ),
    (
        '{"time": "2026-11-30 09:27:05,244", "level": "WARNING", "pid": 5, "msg": "Hello"}',
        (Stripped("[2026-11-30 09:27:05] WARNING:  Hello", "5", "2026-11-30 09:27:05,244"),),
    ),
    (
        '{"level":"error","msg":"It failed","exc_info":"Traceback (most recent call last):\\nValueError: x"}',
        (Stripped("ERROR:    It failed\nTraceback (most recent call last):\nValueError: x"),),
    ),
    (
        '{"textPayload":"ValueError: x","severity":"ERROR","timestamp":"2026-11-30T08:14:58.1Z"}',
        (Stripped("ValueError: x", "", "2026-11-30T08:14:58.1Z"),),
    ),
    ('{"object":"error","message":"Too long","code":400}', (Stripped("ERROR:    Too long"),)),
    ('{"error":{"message":"Too long"}}', (Stripped("ERROR:    Too long"),)),
)

_LONGEST = 32 * 1024 * 1024
_TRIMMED = (NAME, "trimmed")
_LINE_ENDS = (NAME, "line ends")
_DOCKER_CHUNK = 8 * 1024
_decoder = json.JSONDecoder()


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    second = line[1:2]
    if (second not in ('"', "{", " ", "}") and second) or len(line) > _LONGEST or '"' not in line:
        return None
    text = line.rstrip(" ,\r")
    if text[-1] in "}]":
        # Imported where a line looks like JSON: few logs have any, and the import is a tenth of a short run.
        import orjson

        try:
            value = orjson.loads(text)
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            return _several(text, memory) if text[0] == "{" else None
        return _checked(value, memory)
    return _several(text, memory) if text[0] == "{" else None


def _checked(value: Any, memory: Memory) -> list[Stripped] | None:
    found = pieces(value)
    if found and isinstance(value, dict) and is_docker(value):
        return [_docker(found[0], memory)]
    return found


def _docker(piece: Stripped, memory: Memory) -> Stripped:
    """Docker cuts lines at 16 KiB and omits the line end; a shipper that trims every line omits it too."""
    if not piece.partial:
        memory.known.add(_LINE_ENDS)
        return piece
    if _LINE_ENDS in memory.known or len(piece.text) >= _DOCKER_CHUNK:
        return piece
    if _TRIMMED in memory.known:
        return Stripped(piece.text, piece.key, piece.time)
    size = str(len(piece.text.encode("utf-8", "replace")))
    if memory.keys.get(NAME, size) != size or (NAME in memory.keys and is_surely_a_server(piece.text)):
        # The pieces of a cut line are equally long. These are not: the first was a whole line, too.
        memory.known.add(_TRIMMED)
        return Stripped(f"\n{piece.text}", piece.key, piece.time)
    memory.keys[NAME] = size
    return piece


def _several(text: str, memory: Memory) -> list[Stripped] | None:
    """Objects side by side on one line. A refusal's body may have a shell's prompt behind it."""
    found: list[Stripped] = []
    position = 0
    while position < len(text):
        try:
            value, end = _decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        inside = _checked(value, memory)
        if inside is None:
            return None
        found += inside
        position = end
        if isinstance(value, dict) and error_body(value) is not None and text[end : end + 1] not in ("", " ", "{"):
            return [*found, Stripped(text[end:])]
        while position < len(text) and text[position] in " ,\t":
            position += 1
    if position >= len(text):
        return found or None
    # A paste that ends inside the last object: what is there of it is kept, as it stands.
    return [*found, Stripped(text[position:])] if found and text[position] == "{" else None
