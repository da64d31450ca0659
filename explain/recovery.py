"""What became of the server after a failure: it served on, was started again, or stayed down."""

from __future__ import annotations

from explain.launch import LaunchReader
from explain.lifetimes import start_of
from explain.model import Place, Recovery
from explain.prefixes import read_prefix
from explain.seen import Seen
from explain.starts import Sign, Start
from explain.times import seconds_between

_DYING = 120.0
"""Seconds within which the end of a server follows from a failure; other ranks may serve until then."""
_DYING_LINES = 500
"""The same in lines, for logs without times."""


def recovery(launch: LaunchReader, seen: Seen, name: str) -> Recovery:
    """What became of the server after the last event of a finding. `name` is that of its source."""
    start = start_of(launch, seen)
    if start is None:
        return Recovery("unknown")
    sign = next((one for one in launch.signs if _after(launch, one, seen)), None)
    died = start.ended and _died_of_it(start, seen)
    following = _next_start(launch, start)
    if sign is not None and following is not None and following.line and sign.line > following.line:
        sign = None
    if sign is not None and not died:
        stamp = sign.text.find("[20")  # a carrier may stand before it
        prefix = read_prefix(sign.text[stamp:]) if stamp >= 0 else None
        time = (prefix.time if prefix else None) or sign.time
        return Recovery("serving", _positive(seconds_between(seen.time, time)), Place(name, sign.line, time))
    if following is not None:
        place = following.ready or following.place
        ready = following.ready
        seconds = _positive(seconds_between(seen.time, ready.time)) if ready else None
        return Recovery("restarted", seconds, place)
    never_ready = start.line > 0 and start.ready is None and seen.ends
    if died or never_ready:
        return Recovery("dead")
    return Recovery("unknown")


def _positive(seconds: float | None) -> float | None:
    return seconds if seconds is not None and seconds >= 0 else None


def _after(launch: LaunchReader, sign: Sign, seen: Seen) -> bool:
    return sign.line > seen.line and sign.stream == (seen.source, seen.key)


def _died_of_it(start: Start, seen: Seen) -> bool:
    """Whether the end of the server belongs to this failure, and not to a later one."""
    if start.ended <= seen.line:
        return True
    gap = seconds_between(seen.time, start.ended_time)
    return gap <= _DYING if gap is not None else start.ended - seen.line <= _DYING_LINES


def _next_start(launch: LaunchReader, start: Start) -> Start | None:
    return next((one for one in launch.starts if one.stream == start.stream and one.number == start.number + 1), None)
