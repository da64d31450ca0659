"""A time with an offset before every line: docker, kubectl, GitHub Actions, AWS, logcli."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.carriers.stamps import DIGITS, ISO, LEVEL
from explain.expressions import expression
from explain.model import Stripped

NAME = "timestamps"
STARTS = DIGITS
SAMPLES = (
    (
        "2026-11-30T08:14:58.123456789Z [2026-11-30 08:14:58 TP0] Hello",
        (Stripped("[2026-11-30 08:14:58 TP0] Hello", "", "2026-11-30T08:14:58.123456789Z"),),
    ),
    (
        '2026-11-30T08:14:58.1234567Z   File "a.py", line 1, in f',
        (Stripped('  File "a.py", line 1, in f', "", "2026-11-30T08:14:58.1234567Z"),),
    ),
    (
        "2026-11-30T08:14:58.123000+00:00 sglang/server/0123abcd [2026-11-30 08:14:58] Hello",
        (Stripped("[2026-11-30 08:14:58] Hello", "sglang/server/0123abcd", "2026-11-30T08:14:58.123000+00:00"),),
    ),
    (
        '2026-11-30T08:14:58Z {app="sglang", pod="a"} Hello',
        (Stripped("Hello", 'app="sglang", pod="a"', "2026-11-30T08:14:58Z"),),
    ),
    (
        "2026-11-30T08:14:58.123456+00:00 app[web.1]: Hello",
        (Stripped("Hello", "app[web.1]", "2026-11-30T08:14:58.123456+00:00"),),
    ),
)

_HEAD = expression(rf"({ISO})(?:[ \t]|$)(?![-|] (?:[\w.:/-]+ [-|] )?{LEVEL} *[-|] )")
# A program that prints its own time in this form, with a level and its module: nothing was put before it.
_OWN = expression(rf" *{LEVEL} +(?:\w+\{{[^}}]*\}}: ?)*[A-Za-z_][\w.:<>]*: ")
_LABELS = expression(r'\{((?:[A-Za-z_]\w*="[^"]*"(?:, ?)?)+)\} ')
_STREAM = expression(r"([A-Za-z0-9][\w.-]*(?:/[\w.\[\]$-]+)+)(?: |$)")
_DYNO = expression(r"((?:app|heroku)\[[\w.-]+\]): ")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    if found is None:
        return None
    text = line[found.end() :]
    if _OWN.match(text):
        return None
    time = found[1]
    named = _LABELS.match(text) or _DYNO.match(text)
    if named is None and time[-1] != "Z" and (named := _STREAM.match(text)):
        # A path alone is a name only where it was one before.
        if named.end() == len(text) and (NAME, named[1]) not in memory.known:
            named = None
        else:
            memory.known.add((NAME, named[1]))
    if named:
        return [Stripped(text[named.end() :], named[1], time)]
    return [Stripped(text, "", time)]
