"""Line ends that were lost are put back, while carriers are taken off."""

from __future__ import annotations

from itertools import pairwise

from explain.expressions import expression

_GLUED_STAMP = expression(
    r"(?<=[^\s\[(\"'=])? ?(?=\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    r"(?:\.\d+)?(?: [A-Z_]+\d+)*\] )"
)
_GLUED_ACTOR = expression(r" (?=\([A-Z]\w* pid=\d+(?:, ip=[\w.:]+)?\) )")
_DATA = expression(r"(?:Receive|Finish|Receive OpenAI): obj=|server_args=|\"event\": ?\"request\.|--- |launch_command=")
_SHORTEST = 40
_LOOK_BACK = 200
_BAR_END = expression(r"(?:it/s|s/it|\?it|\? ?it)\]$")
_WORD_END = expression(r"(?:[a-z.)]|[A-Za-z]{3} ?)$")
_PREFIX_END = expression(r"(?:\bINFO|\bERROR|\bWARNING|stderr|stdout|[|>:\]-]| F| P|\(\w+ pid=\d+[^)]*\))$")


def at_actors(text: str, fewest: int = 2) -> list[str]:
    """`text` split before each actor's name that Ray put at the head of a line, its line ends lost since.

    Fewer names than `fewest` are a message's own words.
    """
    if text.count(" pid=") < fewest or _DATA.search(text):
        return [text]
    return [piece for piece in _GLUED_ACTOR.split(text) if piece.strip()] or [text]


def at_stamps(text: str) -> list[str]:
    """`text`, its carriers gone, split before each stamp in its middle."""
    if len(text) < _SHORTEST or text.find("[20", 1) < 0 or "] " not in text or _DATA.search(text):
        return [text]
    return [piece for piece in _at_stamps(text) if piece.strip()] or [text]


def _at_stamps(text: str) -> list[str]:
    """Split before each stamp that does not stand at the line's own head (behind its carriers)."""
    cuts = [found.end() for found in _GLUED_STAMP.finditer(text) if _is_glued(text, found.end())]
    return [text[start:stop] for start, stop in pairwise([0, *cuts, len(text)])]


def _is_glued(text: str, position: int) -> bool:
    """Whether the stamp at `position` begins a line of its own."""
    before = text[max(position - _LOOK_BACK, 0) : position].rstrip()
    if len(before) < 12:
        return False
    if _BAR_END.search(before):
        return True
    return bool(_WORD_END.search(before)) and not _PREFIX_END.search(before)
