"""journalctl and syslog files: time, host, program, text; also RFC 5424 and the kernel's own ring buffer."""

from __future__ import annotations

import re

from explain.carriers.memory import Memory
from explain.carriers.stamps import DIGITS, ISO
from explain.expressions import expression
from explain.model import Stripped

NAME = "journald"
STARTS = DIGITS + "JFMASONDTW<"
SAMPLES = (
    (
        "Nov 30 08:14:58 node-0 python3[1841]: [2026-11-30 08:14:58] Hello",
        (Stripped("[2026-11-30 08:14:58] Hello", "node-0 python3[1841]", "Nov 30 08:14:58"),),
    ),
    (
        "2026-11-30T08:14:58+00:00 node-0 sglang[1]:   File",
        (Stripped("  File", "node-0 sglang[1]", "2026-11-30T08:14:58+00:00"),),
    ),
    (
        "<11>Nov  3 08:14:58 node-0 kernel: Out of memory: Killed process 1",
        (Stripped("Out of memory: Killed process 1", "node-0 kernel", "Nov  3 08:14:58"),),
    ),
    (
        '<14>1 2026-11-30T08:14:58.123Z node-0 sglang 1841 - [x y="z"] #033[31mHello#033[0m#011x',
        (Stripped("\x1b[31mHello\x1b[0m\tx", "node-0 sglang[1841]", "2026-11-30T08:14:58.123Z"),),
    ),
    (
        "Mon 2026-11-30 08:14:58 UTC node-0 sglang[1]: Hello",
        (Stripped("Hello", "node-0 sglang[1]", "2026-11-30 08:14:58"),),
    ),
)

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
_DAYS = "Mon Tue Wed Thu Fri Sat Sun"
_SHORT = rf"(?:{_MONTHS.replace(' ', '|')}) [ \d]?\d (?:\d{{4}} )?\d\d:\d\d:\d\d(?:\.\d+)?"
_PRIORITY = r"(?:<\d{1,3}>)?"
_HEAD = expression(
    rf"{_PRIORITY}(?P<time>{_SHORT}) (?P<host>[\w.:-]+) (?P<name>[^\s\[\]:]{{1,128}}(?:\[\d+\])?):(?: |$)"
)
# Without a process id a word and a colon are too little behind a mere ISO time.
_ISO_HEAD = expression(
    rf"{_PRIORITY}(?P<time>{ISO}) (?P<host>[\w.:-]+) "
    r"(?P<name>[^\s\[\]:]{1,128}\[\d+\]|kernel|systemd):(?: |$)"
)
_FULL_HEAD = expression(
    rf"(?:{_DAYS.replace(' ', '|')}) (?P<time>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) [A-Z][\w+/:-]* "
    r"(?P<host>[\w.:-]+) (?P<name>[^\s\[\]:]{1,128}(?:\[\d+\])?):(?: |$)"
)
_RFC5424 = expression(
    rf"<\d{{1,3}}>1 (?P<time>{ISO}|-) (?P<host>\S+) (?P<name>\S+) (?P<pid>\S+) \S+ "
    r"(?:-|(?:\[(?:[^\]\\\"]|\\.|\"(?:[^\"\\]|\\.)*\")*\])+)(?: \ufeff?|$)"
)
_ESCAPED = expression(r"#(0[0-3][0-7])")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    first = line[0]
    if first.isdigit():
        found = _ISO_HEAD.match(line)
    elif first == "<":
        if found := _RFC5424.match(line):
            return [_structured(found, line)]
        found = _HEAD.match(line) or _ISO_HEAD.match(line)
    elif first in "JFMASOND":
        found = _HEAD.match(line)
    elif first in "MTWFS":
        found = None
    else:
        return None
    if found is None and first in "MTWFS":
        found = _FULL_HEAD.match(line)
    if found is None:
        return None
    key = f"{found['host']} {found['name']}"
    memory.widths[NAME], memory.keys[NAME], memory.numbers[NAME] = found.end(), key, memory.number
    return [Stripped(_unescaped(line[found.end() :]), key, found["time"])]


def _structured(found: re.Match[str], line: str) -> Stripped:
    pid = f"[{found['pid']}]" if found["pid"] != "-" else ""
    time = found["time"] if found["time"] != "-" else None
    return Stripped(_unescaped(line[found.end() :]), f"{found['host']} {found['name']}{pid}", time)


def _unescaped(text: str) -> str:
    """rsyslog writes control bytes as `#` and three octal digits."""
    return _ESCAPED.sub(lambda code: chr(int(code[1], 8)), text) if "#0" in text else text
