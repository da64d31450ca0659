"""`--format jsonl` while following: every event once, also over a kill where the output is a file.

The state of a run holds how long the output was and which events in it will be read again. What the output holds
beyond that was written later, by the run that was killed: its lines tell which events they are.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable
from typing import BinaryIO

from explain.announce import write_through
from explain.live import Live, News
from explain.model import Event, Match, Report, Role
from explain.render import jsonl, plain
from explain.state import Written

Key = tuple[str, int, str]
"""Source, line, rank."""


class JsonlAnnouncer:
    """Writes each event as one JSON line as soon as it is known, the summary at the end."""

    def __init__(self, target: BinaryIO) -> None:
        self.names: list[str] = []
        self._target = target
        self._written: list[tuple[int, int, Key]] = []
        """(source, generation, key) of the events that stand behind the marks."""
        self._again: Counter[Key] = Counter()
        """Events that the output holds already and that will be read again."""
        self._begun = b""
        """The beginning of a line that a run was killed, or a disk was full, in the middle of."""

    def tell(self, news: News, run: Live) -> None:
        """Events were written when they were found."""

    def stalled(self, report: Report) -> None:
        """No event of the log."""

    def event(self, event: Event, match: Match, role: Role, generation: int) -> None:
        name = self.names[event.source]
        key = (plain.text(name), event.line, plain.optional(event.rank) or "")
        self._written.append((event.source, generation, key))
        if self._again[key] > 0:
            self._again[key] -= 1
            return
        self._write(jsonl.event(event, match, role, name))

    def summary(self, run: Live, seconds: float) -> None:
        self._write(jsonl.summary(run.report(seconds)))

    def _write(self, line: bytes) -> None:
        begun, self._begun = self._begun, b""
        if begun:
            line = line[len(begun) :] if line.startswith(begun) else b"\n" + line
        try:
            write_through(self._target, line)
        except OSError:
            self._begun = b"\n" if _within_line(self._target) else b""
            raise

    def resume(self, before: Written | None) -> None:
        """Looks into the output of an earlier run, where it is still there."""
        status = _regular(self._target)
        if before is None or status is None or status.st_size < before.size:
            return
        if (status.st_dev, status.st_ino) != (before.device, before.inode):
            return
        self._again.update(before.ahead)
        *whole, self._begun = _read_behind(self._target, before.size).split(b"\n")
        for line in whole:
            try:
                value = json.loads(line)
                if value["type"] == "event":
                    self._again[(value["source"], value["line"], value["rank"] or "")] += 1
            except (ValueError, TypeError, KeyError):
                continue  # a line of somebody else who writes to this file

    def caught_up(self) -> None:
        """All that was written before the start was read: what is found from now on is new."""
        self._again.clear()

    def place(self, is_settled: Callable[[int, int, int], bool]) -> Written | None:
        """What the state has to hold; None where the output is no file."""
        self._written = [one for one in self._written if not is_settled(one[0], one[1], one[2][1])]
        status = _regular(self._target)
        if status is None:
            return None
        ahead = (*(key for _, _, key in self._written), *(+self._again).elements())
        return Written(status.st_dev, status.st_ino, status.st_size - len(self._begun.strip()), ahead)


def _regular(target: BinaryIO) -> os.stat_result | None:
    try:
        status = os.fstat(target.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _within_line(target: BinaryIO) -> bool:
    """Whether a file does not end with a line end: a full disk cut the last line off."""
    status = _regular(target)
    return status is not None and _read_behind(target, max(status.st_size - 1, 0)) not in (b"", b"\n")


def _read_behind(target: BinaryIO, offset: int) -> bytes:
    """What a file that is open for writing only holds behind `offset`; nothing where the system has no way."""
    try:
        with open(f"/proc/self/fd/{target.fileno()}", "rb") as file:
            file.seek(offset)
            return file.read()
    except OSError:
        return b""
