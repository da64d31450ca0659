"""One opened file that grows: what was not read yet, and whether it is still the file it was."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator

from explain.values import dataclass

READ_BYTES = 1024 * 1024
BUDGET_BYTES = 64 * READ_BYTES
"""How much one poll of one path reads before the others have their turn."""
FINGERPRINT = 256
"""Bytes before a place that must be the same for the file to be the same: more than one line, which holds its
time. Lines of a healthy server end alike."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of one generation. `generation` counts up from 0 over the run of a tail."""

    generation: int
    data: bytes


@dataclass(slots=True)
class OpenFile:
    """One opened file. `position` is the next byte to read, `before` what was read last."""

    descriptor: int
    device: int
    inode: int
    generation: int
    opened_at: float
    """In seconds of the epoch."""
    position: int = 0
    before: bytes = b""
    written: int = 0
    emptied: bool = False
    """Whether it was found to be shorter than what was read, or to hold other bytes there."""
    retire_at: float = 0.0
    is_copy: bool = False
    """Made when another file was emptied: it does not grow, another copy may be written over it."""

    @classmethod
    def open(cls, path: str, generation: int) -> OpenFile | None:
        """Raises OSError, also for a named pipe, whose writer is never waited for; None for a directory."""
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            os.close(descriptor)
            return None
        if stat.S_ISFIFO(status.st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "a named pipe, which is read without --follow", path)
        return cls(descriptor, status.st_dev, status.st_ino, generation, time.time())

    def close(self) -> None:
        os.close(self.descriptor)

    def is_at(self, status: os.stat_result) -> bool:
        """Whether this is the file that a path was found to lead to."""
        return (self.device, self.inode) == (status.st_dev, status.st_ino)

    @property
    def size(self) -> int:
        try:
            return os.fstat(self.descriptor).st_size
        except OSError:
            return 0

    @property
    def unread(self) -> int:
        """Bytes beyond what was read."""
        return max(self.size - self.position, 0)

    def go_to(self, position: int) -> None:
        """Skips to a place as if all before it had been read."""
        self.position, self.before = position, self.bytes_before(position)

    def changed(self) -> bool:
        """Whether it may hold something that was not read when this was asked last."""
        try:
            status = os.fstat(self.descriptor)
        except OSError:
            return False
        before, self.written = self.written, status.st_mtime_ns
        return status.st_mtime_ns != before or status.st_size != self.position

    def read(self) -> Iterator[Piece]:
        """What was not read yet, at most about `BUDGET_BYTES`; stops where it is found `emptied`. Raises OSError.

        Each read begins with what was read last: the file may be emptied and written again at any moment. A
        writer that did not open for appending then goes on behind a hole of NULs, which is left out.
        """
        budget = BUDGET_BYTES
        in_hole = not self.position
        if in_hole:
            self.position = _first_data(self.descriptor)
        while budget > 0:
            known = len(self.before)
            os.lseek(self.descriptor, self.position - known, os.SEEK_SET)
            data = os.read(self.descriptor, READ_BYTES + known)
            if data[:known] != self.before:
                self.emptied = True
                return
            data = data[known:]
            if not data:
                return
            self.position += len(data)
            budget -= len(data)
            self.before = (self.before + data[-FINGERPRINT:])[-FINGERPRINT:]
            if in_hole:
                data = data.lstrip(b"\0")
                in_hole = not data
            if data:
                yield Piece(self.generation, data)

    def holds(self, offset: int, before: bytes) -> bool:
        """Whether it reaches to `offset`, with `before` in front of it."""
        found = self.bytes_before(offset)
        return found.endswith(before) and self.size >= offset

    def go_on(self, offset: int, before: bytes, generation: int) -> bool:
        """Goes to a place that was read before, where it holds it; whether it does."""
        holds = self.holds(offset, before)
        if holds:
            self.position, self.before, self.generation = offset, before, generation
        return holds

    def start_anew(self, generation: int) -> None:
        """It was emptied: what it holds now is another generation."""
        self.generation, self.position, self.before, self.emptied = generation, 0, b"", False

    def bytes_before(self, offset: int) -> bytes:
        """At most `FINGERPRINT`; fewer where the file is shorter."""
        start = max(offset - FINGERPRINT, 0)
        try:
            os.lseek(self.descriptor, start, os.SEEK_SET)
            return os.read(self.descriptor, offset - start)
        except OSError:
            return b""


def _first_data(descriptor: int) -> int:
    """Where the first byte that is no hole stands, 0 where the system cannot tell."""
    seek_data = getattr(os, "SEEK_DATA", None)
    if seek_data is None:
        return 0
    try:
        return os.lseek(descriptor, 0, seek_data)
    except OSError:
        return 0
