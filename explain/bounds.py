"""Bounds on what is kept of a log: a stranger decides how long its lines are and how large its numbers."""

from __future__ import annotations

from explain.model import Event, Traceback
from explain.values import replace

TOLD = 8 * 1024
"""Characters of a message that are kept for the report."""
FRAMES = 200
CAPTURE = 1_000


def within(text: str, most: int) -> str:
    """`text` in at most about `most` characters: a long one loses its middle, since both ends may tell."""
    if len(text) <= most:
        return text
    tail = most // 4
    return f"{text[: most - tail]} … {text[-tail:]}"


def slim(event: Event) -> Event:
    """The event as it is kept until the report: long texts shortened, the rest of its chain left out."""
    traceback = event.traceback
    if traceback is not None and (traceback.cause or traceback.message or len(traceback.frames) > FRAMES):
        traceback = Traceback(traceback.frames[-FRAMES:], traceback.exception, "")
    if traceback is event.traceback and len(event.message) <= TOLD and len(event.text) <= TOLD:
        return event
    return replace(event, message=within(event.message, TOLD), text=within(event.text, TOLD), traceback=traceback)
