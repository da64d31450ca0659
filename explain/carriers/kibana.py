"""Kibana's table: `May 14, 2026 @ 09:02:03.004`, four blanks, the line, more blanks."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped

NAME = "kibana"
STARTS = 'JFMASOND"'
SAMPLES = (
    (
        "May 14, 2026 @ 09:02:03.004    [2026-05-14 01:02:03 DP2 TP2] Hello    ",
        (Stripped("[2026-05-14 01:02:03 DP2 TP2] Hello", "", "2026-05-14 09:02:03.004"),),
    ),
    ("May 4, 2026 @ 09:02:03.004      File", (Stripped("  File", "", "2026-05-04 09:02:03.004"),)),
    (
        '"May 14, 2026 @ 09:02:03.004","a ""b"""',
        (Stripped('a "b"', "", "2026-05-14 09:02:03.004"),),
    ),
)

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = rf"({'|'.join(_MONTHS)}) (\d{{1,2}}), (\d{{4}}) @ (\d\d:\d\d:\d\d(?:\.\d+)?)"
_HEAD = expression(rf"{_TIME}(?: {{4}}|\t| {{0,3}}$)")
_CSV_HEAD = expression(rf'"{_TIME}",')


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    """The time is handed on in ISO form: only so can lines be put in order."""
    found = (_CSV_HEAD if line[0] == '"' else _HEAD).match(line)
    if found is None:
        return None
    text = line[found.end() :].rstrip()
    if line[0] == '"' and text[:1] == '"':
        text = text[1:].removesuffix('"').replace('""', '"')
    time = f"{found[3]}-{_MONTHS.index(found[1]) + 1:02}-{int(found[2]):02} {found[4]}"
    return [Stripped(text, "", time)]
