"""Which events are findings."""

from __future__ import annotations

from explain.expressions import expression
from explain.model import Event, Match

_ERROR_LEVELS = frozenset({"ERROR", "CRITICAL"})
_PYTHON_WARNING = expression(r"\w*Warning: ")
_ERROR_SHAPE = expression(r"(?:[\w.-]+(?: \w+)?: (?:fatal )?error: |CUDA error: |error: )")


def _is_python_warning(event: Event) -> bool:
    """What Python's warnings module prints has the level and no frames; a log message may begin like it."""
    if event.level != "WARNING" or event.frames:
        return False
    return bool(_PYTHON_WARNING.match(event.message)) or (event.exception or "").endswith("Warning")


def worth_telling(match: Match) -> bool:
    """Whether an event is a finding: it is known, it is an exception or a crash, or it calls itself an error.

    A bare line behind a message is told only where a record knows it: it may be part of that message. Python's
    own warnings are told only where a record knows them.
    """
    event = match.event
    if match.record is not None:
        return True
    if _is_python_warning(event):
        return False
    if match.site is not None and not event.inside:
        return True
    if event.kind != "message":
        return True
    return bool(_ERROR_SHAPE.match(event.message)) or (not event.inside and event.level in _ERROR_LEVELS)
