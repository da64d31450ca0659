"""Formats that Python's loggers, loguru and supervisor put before a message: time, name, level, process.

What follows is handed on as the server would have printed it, so that time and level are not lost. Where the
wrapper copies another program's output line by line, that output is handed on as it is.
"""

from __future__ import annotations

import re

from explain.carriers.memory import Memory
from explain.carriers.stamps import DIGITS, LEVEL, PLAIN, as_server_prints, is_raw_output
from explain.expressions import expression
from explain.model import Stripped
from explain.prefixes import read_prefix

NAME = "python-logging"
STARTS = DIGITS + "DIWECFTNS["
SAMPLES = (
    (
        "2025-03-06 01:02:03,004 - __main__ - INFO - [2025-03-06 01:02:03 TP0] Load weight begin.",
        (Stripped("[2025-03-06 01:02:03 TP0] Load weight begin.", "", "2025-03-06 01:02:03,004"),),
    ),
    (
        "2025-11-22 01:02:03.000004+08:00 - gpustack.worker - ERROR - It failed",
        (Stripped("[2025-11-22 01:02:03] ERROR:    It failed", "", "2025-11-22 01:02:03.000004+08:00"),),
    ),
    (
        "2025-05-01 01:02:03,004 xinference.core.worker 141 ERROR    Failed to load model",
        (Stripped("[2025-05-01 01:02:03] ERROR:    Failed to load model", "", "2025-05-01 01:02:03,004"),),
    ),
    (
        "2026-02-08T01:02:03.000004Z  WARN mm_utils._adjust: Number of tokens",
        (Stripped("[2026-02-08 01:02:03] WARNING:  Number of tokens", "", "2026-02-08T01:02:03.000004Z"),),
    ),
    (
        "2026-03-17 01:02:03.004 ERROR 100001 [ TP0 scheduler.py:3190] Scheduler hit an exception: x",
        (
            Stripped(
                "[2026-03-17 01:02:03 TP0] ERROR:    Scheduler hit an exception: x",
                "",
                "2026-03-17 01:02:03.004",
            ),
        ),
    ),
    (
        "2026-11-30 08:14:58,123 WARN exited: sglang (terminated by SIGKILL; not expected)",
        (
            Stripped(
                "[2026-11-30 08:14:58] WARNING:  exited: sglang (terminated by SIGKILL; not expected)",
                "",
                "2026-11-30 08:14:58,123",
            ),
        ),
    ),
    (
        "WARNING:2025-11-27 09:00:45,396:Async request timed out",
        (Stripped("[2025-11-27 09:00:45] WARNING:  Async request timed out", "", "2025-11-27 09:00:45,396"),),
    ),
    (
        "ERROR:asyncio:Task exception was never retrieved",
        (Stripped("ERROR:    Task exception was never retrieved"),),
    ),
    (
        "2025-01-01 01:02:03.004 | ERROR    | app.main:start:12 - It failed",
        (Stripped("[2025-01-01 01:02:03] ERROR:    It failed", "", "2025-01-01 01:02:03.004"),),
    ),
    (
        "[2025-03-06 01:02:03,004] [WARNING] [real_accelerator.py:203:get] Hello",
        (Stripped("[2025-03-06 01:02:03] WARNING:  Hello", "", "2025-03-06 01:02:03,004"),),
    ),
)

_ANY = rf"(?P<level>{LEVEL}|[Dd]ebug|[Ii]nfo|[Ww]arning|[Ee]rror|[Cc]ritical)"
_NAME = r"(?P<name>[A-Za-z_][\w.:/-]{0,120})"
_RANK = r"(?:DP|TP|EP|PP|CP|ATTN_CP|MOE_DP|DCP)\d{1,6}"
_PLACE = r"[\w./<>-]{1,120}:\d+(?::[\w<>]+)?"
_EXCEPTION = expression(r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt): ")
_NO_CLASS = r"(?!\S*(?:Error|Exception|Exit|Interrupt|Warning): )"
_BOX = r"\[[\w<>-]{0,60}[.:/][^\]\s]{1,120}\]"
_AFTER = (
    rf"(?:{_BOX} |[\w./<>-]{{1,120}}:\d+(?::[\w<>]+)?(?:\]|:| -| \|)? |"
    r"[a-z_]\w*(?:\.[a-z_]\w*)+:? (?:- |\| )?)?"
)
"""Where in its code a logger was called, behind the level. (A word in brackets is the server's own.)"""
_FORMS = tuple(
    expression(form)
    for form in (
        # time - name - level - message, and its relatives without a name
        rf"(?P<time>{PLAIN}) ?- (?:{_NAME} - )?(?:\d+ - )?{_ANY} - (?:\[?{_PLACE}\]? ?[-:] )?",
        # time level pid [ ranks file:line] message
        rf"(?P<time>{PLAIN}) {_ANY} +(?:\d+ +)?\[(?P<ranks>(?: *{_RANK}){{0,8}}) *{_PLACE}\] ?",
        # time name pid level message
        rf"(?P<time>{PLAIN}) {_NAME} \d+ {_ANY} +",
        # time | level | place - message
        rf"(?P<time>{PLAIN}) \| {_ANY} *\| (?:{_NAME}(?::\d+)? (?:[-|]|\|) )?",
        # time level module.function: message
        rf"(?P<time>{PLAIN}) +{_ANY} +{_NO_CLASS}(?P<target>[A-Za-z_]\w*(?:\.[\w<>]+)+): ",
        # time [level] name: message
        rf"(?P<time>{PLAIN}) \[{_ANY} *\] (?:{_NO_CLASS}{_NAME}: |{_BOX} ?)?{_AFTER}",
        # time level message
        rf"(?P<time>{PLAIN}) (?P<level>{LEVEL}|CRIT|ERRO|DEBG|TRAC) (?: *\d+ )?(?!\S+ ?:: ?){_AFTER}",
    )
)
_UPPER = rf"(?P<level>{LEVEL})"
_BRACKETED = tuple(
    expression(form)
    for form in (
        rf"\[(?P<time>{PLAIN})\] ?(?:\[(?P<name>[A-Za-z_][\w.]*)\])?\[{_UPPER} *\](?: ?{_BOX})? ?-? ?",
        rf"\[(?P<time>{PLAIN} [+-]\d{{4}})\] (?:\[\d+\] )?\[{_UPPER}\] ",
        rf"\[(?P<time>{PLAIN}(?: UTC)?)\] \{{[\w./-]+:\d+\}} {_UPPER} - ",
    )
)
_LEVEL_FIRST = expression(rf"(?P<level>{LEVEL}):(?:(?P<time>{PLAIN}):|(?P<name>[A-Za-z_][\w.]*):(?=\S))")
_MORE_CARRIERS = expression(r"\(\w[\w.:]* pid=|\{\"|\[rank\d+\]: |\[pod/")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _matched(line)
    if found is None:
        return None
    groups = found.groupdict()
    time, message = groups.get("time"), line[found.end() :]
    copied = (NAME, groups.get("name") or "")
    if message.startswith("  ") and is_raw_output(message):
        memory.known.add(copied)
    if copied in memory.known or is_raw_output(message) or _MORE_CARRIERS.match(message):
        return [Stripped(message, "", time)]
    return [
        Stripped(
            as_server_prints(message, time=time, level=groups["level"], ranks=groups.get("ranks") or ""),
            "",
            time,
        )
    ]


def _matched(line: str) -> re.Match[str] | None:
    first = line[0]
    if first.isdigit():
        if line[4:5] != "-":
            return None
        found = next((match for form in _FORMS if (match := form.match(line))), None)
        # The router and other programs print a time and a level of their own.
        if found is None or _EXCEPTION.match(line, found.end()):
            return found
        return found if read_prefix(line) is None else None
    if first == "[":
        if line[1:2] != "2":
            return None
        return next((match for form in _BRACKETED if (match := form.match(line))), None)
    return _LEVEL_FIRST.match(line) if first in "DIWECFTNS" else None
