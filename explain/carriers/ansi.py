"""Colours and cursor codes, raw or as another program escaped them."""

from __future__ import annotations

from explain.expressions import expression
from explain.model import Stripped

NAME = "ansi"
SAMPLES: tuple[tuple[str, tuple[Stripped, ...]], ...] = (
    ("\x1b[36mRuntime\x1b[0mError: x", (Stripped("RuntimeError: x"),)),
    ("\\u001b[31mError\\x1b[0m#033[0m", (Stripped("Error"),)),
    (
        "\x1b[91m[11-30 08:14:58] Error executing request\x1b[0;0m",
        (Stripped("[11-30 08:14:58] ERROR:    Error executing request"),),
    ),
    (
        "[36m(Worker pid=9)[0m ValueError: x[32m [repeated 3x across cluster][0m",
        (Stripped("(Worker pid=9) ValueError: x [repeated 3x across cluster]"),),
    ),
)

_CODES = expression(
    r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|#033|␛)\[[0-9;:?<=>]*[ -/]{0,4}[@-~]|"
    r"\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\x1b[ -/]{0,4}[0-~]|\x9b[0-9;:?]*[@-~]"
)
# Codes whose escape character was lost while they were copied; one alone may be anything.
_BARE = expression(r"\[(?:\d{1,3}(?:;\d{1,3}){0,4})?m")
# The diffusion server says the level by colour alone.
_DIFFUSION = expression(r"\x1b\[(9[13])m(\[\d\d-\d\d \d\d:\d\d:\d\d\] )(?!(?:WARNING|ERROR):  )")
_COLOURS = {"91": "ERROR:    ", "93": "WARNING:  "}


def without_codes(text: str) -> str:
    """`text` without terminal codes; a colour that stands for a level becomes that level."""
    if not ("\x1b" in text or "33[" in text or "1b[" in text or "1B[" in text or "\x9b" in text or "␛[" in text):
        return _without_bare(text)
    if text.startswith("\x1b[9"):
        text = _DIFFUSION.sub(lambda found: found[2] + _COLOURS[found[1]], text, count=1)
    return _without_bare(_CODES.sub("", text))


def _without_bare(text: str) -> str:
    return _BARE.sub("", text) if "[0m" in text and len(_BARE.findall(text)) > 1 else text


def strip(line: str) -> list[Stripped] | None:
    text = without_codes(line)
    return None if text is line else [Stripped(text)]
