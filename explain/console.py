"""What the commands share: words on standard error, exit codes, the screen. Imports nothing heavy."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from explain.catalogue import Catalogue
    from explain.model import Problem

PROGRAM = "sglang-explain"
MATCHED = 1
FAILED = 2
INTERRUPTED = 130
MOST_PROBLEMS = 20
PIPE_WIDTH = 80
"""Columns where the output is no terminal."""


class UsageProblem(Exception):
    """Something that the caller has to change. The text says what, and what to try."""


def complain(text: str) -> None:
    """One line on standard error, clean and masked. A closed standard error is no reason to fail."""
    from explain.render import safe

    with suppress(OSError, ValueError, AttributeError):
        encoding = sys.stderr.encoding or "ascii"
        sys.stderr.write(safe.encode(f"{PROGRAM}: {safe.line(text)}\n", encoding).decode(encoding))
        sys.stderr.flush()


def report_problems(problems: Iterable[Problem]) -> None:
    """A line for each problem; a long list is cut and counted."""
    rest = iter(problems)
    for problem in islice(rest, MOST_PROBLEMS):
        path = "standard input" if problem.path == "-" else problem.path
        place = f"{path}: {problem.pointer}" if problem.pointer else path
        complain(f"{place}: {problem.message}" + (f"; {problem.hint}" if problem.hint else ""))
    left = sum(1 for _ in rest)
    if left:
        complain(f"{left} further problems; {PROGRAM} check PATH lists those of a folder of records")


class Complaints:
    """Says what is wrong once, and again only when it has changed or was right in between."""

    def __init__(self, complain: Callable[[Problem], None]) -> None:
        self._complain = complain
        self._last: str | None = None

    def hear(self, problem: Problem | None) -> None:
        message = problem.message if problem is not None else None
        if problem is not None and message != self._last:
            self._complain(problem)
        self._last = message


def problems_of_user(catalogue: Catalogue, only: bool) -> list[Problem]:
    """The catalogue's problems that the user can do something about.

    A shipped record that cannot be used is for those who write records, who have `check` for it: someone
    with a server down must not read about it. A damaged installation must be told.
    """
    if only or not catalogue.problems or os.environ.get("SGLANG_EXPLAIN_DEBUG"):
        return list(catalogue.problems)
    from explain.catalogue import SHIPPED, Catalogue

    ours = {problem for problem in Catalogue.load().problems if problem.path != str(SHIPPED)}
    return [problem for problem in catalogue.problems if problem not in ours]


def nearest(given: str, valid: Sequence[str]) -> str:
    """`; did you mean X?` where one of the valid names is near, else nothing."""
    from difflib import get_close_matches

    near = get_close_matches(given, valid, 1, 0.6)
    return f"; did you mean {near[0]}?" if near else ""


def choose(option: str, given: str, valid: Sequence[str]) -> str:
    """`given` where it is one of the valid values of an option; a `UsageProblem` otherwise."""
    if given not in valid:
        named = f"choose from {', '.join(valid)}" if len(valid) <= 10 else "there is none of that name"
        raise UsageProblem(f"{option} {given}: {named}{nearest(given, valid)}")
    return given


def emit(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def emit_text(text: str) -> None:
    """Text on standard output, in whatever encoding that has."""
    from explain.render import safe

    emit(safe.encode(text, sys.stdout.encoding or "utf-8"))


def screen_width(otherwise: int = PIPE_WIDTH) -> int:
    """The columns of the terminal, or of COLUMNS; `otherwise` where standard output is no terminal."""
    # What `shutil.get_terminal_size` does, without the compressors that it brings along.
    with suppress(ValueError):
        if (columns := int(os.environ.get("COLUMNS", ""))) > 0:
            return columns
    with suppress(OSError, ValueError):
        if sys.__stdout__ is not None:
            return os.get_terminal_size(sys.__stdout__.fileno()).columns or otherwise
    return otherwise


def wants_color(choice: str, to_screen: bool = True, screen: BinaryIO | None = None) -> bool:
    """Colour on a terminal that can show it, unless NO_COLOR is set or the caller chose.

    `screen` is where the text goes, standard output where none is given.
    """
    if choice != "auto":
        return choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return to_screen and not plain and (screen or sys.stdout).isatty()
