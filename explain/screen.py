"""What the output is: a terminal, whose last line may be ours, a file that grows, a pipe that may be closed."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def screen_of(target: BinaryIO) -> tuple[bool, Callable[[], int]]:
    """(whether the target is a terminal, how wide it is now)."""
    try:
        terminal = target.isatty()
    except (OSError, ValueError, AttributeError):
        terminal = False

    def width() -> int:
        if not terminal:
            return 80
        try:
            return os.get_terminal_size(target.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    return terminal, width


def reader_left(target: BinaryIO) -> bool:
    """Whether the other end of a pipe or socket is closed, or a terminal gone."""
    try:
        watch = select.poll()
        watch.register(target.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in watch.poll(0))
    except (OSError, ValueError, AttributeError):
        return False


def owns_screen(target: BinaryIO) -> bool:
    """Whether the last line of this terminal is ours: behind a background job it may be a prompt."""
    if os.environ.get("TERM") == "dumb":
        return False
    try:
        return os.tcgetpgrp(target.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return os.name != "posix"


def file_bytes(target: BinaryIO) -> int | None:
    """The size of the file that the target is, None for a terminal or a pipe."""
    try:
        status = os.fstat(target.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def is_own(paths: Iterable[Path | None], targets: Iterable[BinaryIO], path: str, status: os.stat_result) -> bool:
    """Whether `path` is one of our files, by its name, or by what an output of ours leads to."""
    if any(one is not None and os.path.abspath(one) == os.path.abspath(path) for one in paths):
        return True
    for target in targets:
        with suppress(OSError, ValueError, AttributeError):
            if os.path.samestat(os.fstat(target.fileno()), status):
                return True
    return False
