"""Times and levels as carriers print them, and the form in which they are handed on."""

from __future__ import annotations

from explain.expressions import expression
from explain.prefixes import read_prefix

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"

ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
"""RFC 3339 with an offset."""
PLAIN = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
"""A date and a time as Python's loggers print it."""
LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE|NOTICE|SUCCESS)"
_NAMES = {
    "WARN": "WARNING",
    "FATAL": "CRITICAL",
    "CRIT": "CRITICAL",
    "ERRO": "ERROR",
    "ERR": "ERROR",
    "EMERGENCY": "CRITICAL",
    "ALERT": "CRITICAL",
    "SEVERE": "ERROR",
}
_TOLD = frozenset({"WARNING", "ERROR", "CRITICAL"})
_DATE = expression(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)")
_SURE = expression(r'Traceback \(most recent call last\):|  File "[^"\n]{1,500}", line \d+|Fatal Python error: ')
_LIKELY = expression(
    r"During handling of the above exception, another|The above exception was the direct cause of|"
    r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): "
)
_UVICORN = ("INFO:     ", "ERROR:    ", "WARNING:  ")
_CARRIED = expression(
    rf"\[(?:rank|default)\d+\]:|\(\w[\w.]* pid=\d+[,)]|\[pod/|{ISO} |\{{\"log\":|> \[\d{{4}}-\d\d-\d\d"
)


def level_name(level: str) -> str:
    """The level under Python's name for it, upper case."""
    upper = level.strip().upper()
    return _NAMES.get(upper, upper)


def as_server_prints(message: str, *, time: str | None, level: str | None, ranks: str = "") -> str:
    """`message` behind the stamp, the ranks and the level that a server would have printed.

    A message that begins with a stamp or a level of its own keeps just that one. The levels below a warning
    are left out, as the server leaves them out.
    """
    if message[:1] == "[" or message[:1].isdigit() or message[:1] in tuple("DIWEC"):
        own = read_prefix(message)
        if own is not None and (own.time or own.rank or own.level or own.intruder):
            return message
    name = level_name(level) if level else ""
    found = _DATE.match(time) if time else None
    shown = f"{name}:".ljust(9) + (" " if name != "CRITICAL" else "  ") if name in _TOLD else ""
    if found is None:
        return f"{shown or 'INFO:     '}{message}"
    labels = f" {' '.join(ranks.split())}" if ranks.strip() else ""
    return f"[{found[1]} {found[2]}{labels}] {shown}{message}"


def is_surely_a_server(text: str) -> bool:
    """Whether `text` can hardly be anything but the beginning of a server's line."""
    if not text:
        return False
    if text[0] == "[" and (prefix := read_prefix(text)) is not None:
        return prefix.time is not None or prefix.rank is not None
    return bool(_SURE.match(text) or _LIKELY.match(text) or _CARRIED.match(text)) or text.startswith(_UVICORN)


def is_raw_output(text: str) -> bool:
    """Whether `text` is a line of a traceback or empty: no logger begins a message like that."""
    return not text.strip() or text.startswith("  ") or bool(_SURE.match(text))


def from_epoch(value: object, per_second: int) -> str | None:
    """ISO time in UTC of a count of (parts of) seconds; None where it is none."""
    from datetime import datetime, timezone

    try:
        return datetime.fromtimestamp(int(str(value)) / per_second, timezone.utc).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
