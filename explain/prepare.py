"""The head of a source as a whole: a reversed order and hard-wrapped lines are put right.

Both can only be told from many lines at once, and both come from pastes and exports, which are small.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence

from explain.expressions import expression
from explain.model import Line
from explain.prefixes import read_prefix
from explain.tracebacks import HEADER, is_exception_line, match_frame
from explain.values import replace

_FEWEST_STAMPS = 3
_NARROWEST = 60
_WIDEST = 400
_USUAL_WIDTHS = frozenset({80, 100, 120, 132, 140, 150, 160, 180, 200, 240})
"""Columns at which one broken line is enough to believe it."""
_BEGINNINGS = ("Exception in ", "Process ", "Fatal Python error: ", "Killed")
"""No line that begins so is the rest of another."""
_FULL_TIME = expression(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")

_FEWEST_ARGUMENTS = 5
"""A first line with fewer commas is not the rest of a list of arguments."""


def join_wrapped(texts: Sequence[tuple[int, str]], carried: Callable[[str], bool]) -> list[tuple[int, str]]:
    """Physical lines, (number, text) each, joined where a terminal broke them.

    `carried` says whether a line starts with something a carrier puts there: such a line continues nothing.
    """
    lines = [Line(number, text) for number, text in _dedented(texts)]
    width = _wrap_width(lines, carried)
    return _pairs(_unwrapped(lines, width, carried) if width else lines)


def _pairs(lines: Sequence[Line]) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in lines]


def _dedented(texts: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Without the indentation that all lines share: a paste moved to the right as a whole."""
    margins = [_margin(text) for _, text in texts if text.strip()]
    margin = min(margins, default=0)
    return [(number, text[margin:]) for number, text in texts] if margin else list(texts)


def prepare_head(lines: Sequence[Line]) -> list[Line]:
    """Lines without their carriers, in the order in which they were written, whole and single-spaced."""
    ordered = list(reversed(lines)) if _newest_first(lines) else list(lines)
    ordered = _single_spaced(ordered)
    width = _wrap_width(ordered, _never)
    ordered = _unwrapped(ordered, width, _never) if width else ordered
    first = ordered[0].text if ordered else ""
    if (first.count(", ") >= _FEWEST_ARGUMENTS) or any("server_args=" in line.text for line in ordered):
        from explain.listing import whole_listings

        return whole_listings(ordered)
    return ordered


def _never(_text: str) -> bool:
    return False


def _single_spaced(lines: list[Line]) -> list[Line]:
    """Without the blank line that a paste put behind every line."""
    texts = [bool(line.text.strip()) for line in lines]
    followed = [not later for here, later in itertools.pairwise(texts) if here]
    if len(followed) < 3 or sum(followed) < 0.9 * len(followed):
        return lines
    kept: list[Line] = []
    skip = False
    for line, full in zip(lines, texts, strict=True):
        if not full and skip:
            skip = False
            continue
        kept.append(line)
        skip = True  # of several blank lines every second one is the paste's
    return kept


def _newest_first(lines: Sequence[Line]) -> bool:
    """Whether times fall from line to line, and tracebacks stand on their heads."""
    times = [found[0] for line in lines if (found := _FULL_TIME.search(line.time or line.text[:40]))]
    falls = sum(later < earlier for earlier, later in itertools.pairwise(times))
    rises = sum(later > earlier for earlier, later in itertools.pairwise(times))
    if len(times) >= _FEWEST_STAMPS and falls >= 2 and falls > 3 * rises:
        return True
    if rises:
        return False
    headers = [index for index, line in enumerate(lines) if HEADER in line.text]
    if not headers:
        return False
    # The header stands below its frames and the exception above them.
    return all(
        index and _is_frame_or_code(lines[index - 1].text) and not _frame_follows(lines, index) for index in headers
    )


def _is_frame_or_code(text: str) -> bool:
    return bool(match_frame(text)) or text.startswith("    ")


def _frame_follows(lines: Sequence[Line], index: int) -> bool:
    return any(match_frame(line.text) for line in lines[index + 1 : index + 3])


def _wrap_width(lines: Sequence[Line], carried: Callable[[str], bool]) -> int:
    """The column at which lines were broken, 0 where they were not.

    A broken paste has no line beyond the column, several that reach it exactly, and text behind those that
    starts with neither a prefix nor an indentation.
    """
    lengths = Counter(len(line.text.rstrip("\r")) for line in lines)
    if not lengths:
        return 0
    longest = max(lengths)
    if not _NARROWEST <= longest <= _WIDEST:
        return 0
    reaching = lengths[longest] + lengths.get(longest - 1, 0)
    fewest = 1 if longest in _USUAL_WIDTHS else 2
    broken = sum(
        _goes_on(lines[index].text, lines[index + 1].text, carried)
        for index in range(len(lines) - 1)
        if len(lines[index].text.rstrip("\r")) >= longest - 1
    )
    return longest if broken >= fewest and broken * 2 >= reaching else 0


def _goes_on(line: str, following: str, carried: Callable[[str], bool]) -> bool:
    """Whether `following` can be the rest of `line`."""
    rest = following.strip()
    return bool(
        rest
        and read_prefix(following) is None
        and not match_frame(following)
        and HEADER not in following
        and not is_exception_line(following)
        and not rest.startswith(("^", "~", "raise ", "return "))
        and not following.startswith(_BEGINNINGS)
        and not _is_code_of(line, following)
        and not carried(following)
    )


def _is_code_of(line: str, following: str) -> bool:
    """Whether `line` is a whole frame and `following` the code under it: frames of one file end alike."""
    frame = match_frame(line)
    whole = frame is not None and re.fullmatch(r"[\w.]+|<\w+>", frame["function"] or "")
    return bool(whole) and _margin(following) > _margin(line)


def _margin(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))


def _unwrapped(lines: Sequence[Line], width: int, carried: Callable[[str], bool]) -> list[Line]:
    joined: list[Line] = []
    full = False
    for line in lines:
        text = line.text.rstrip("\r")
        if full and joined and joined[-1].key == line.key and _goes_on(joined[-1].text, text, carried):
            rest = text.lstrip() if text.startswith("    ") else text
            joined[-1] = replace(joined[-1], text=joined[-1].text + rest)
        else:
            joined.append(replace(line, text=text))
        full = len(text) >= width - 1
    return joined
