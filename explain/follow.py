"""Live tail: growth, truncation, rotation, files that appear later. Every byte is handed out once, in order.

A `Tail` follows one path. What it reads belongs to a *generation*, one file behind the path: a new one starts
when the path leads to another file, or when the file was emptied and begins anew.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from explain.model import Problem
from explain.values import dataclass, field

READ_BYTES = 1024 * 1024
BUDGET_BYTES = 64 * READ_BYTES
"""How much one poll of one path reads before the others have their turn."""
FINGERPRINT = 64
RETIRE_SECONDS = 10.0
"""How long a file that was renamed is still read: its writer may not have reopened yet."""
MISSING_SECONDS = 1.0
"""How often the folder is looked through while the path leads nowhere."""
REMEMBERED_FILES = 1024
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of one generation. `generation` counts up from 0 over the run of a tail."""

    generation: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a generation was left: enough to find the file again, also under another name, and to go on in it."""

    device: int
    inode: int
    offset: int
    before: bytes
    """The bytes before `offset`, at most `FINGERPRINT`: another content means another file."""
    at: float = 0.0
    """When the mark was made, in seconds of the epoch: files written later may hold what nobody read."""

    def as_json(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "inode": self.inode,
            "offset": self.offset,
            "before": self.before.hex(),
            "at": self.at,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Mark:
        """Raises KeyError, TypeError or ValueError for what `as_json` did not write."""
        before = bytes.fromhex(value["before"])
        return cls(int(value["device"]), int(value["inode"]), int(value["offset"]), before, float(value["at"]))


@dataclass(slots=True)
class _File:
    """One opened file. `position` is the next byte to read, `before` what was read last."""

    descriptor: int
    device: int
    inode: int
    generation: int
    position: int = 0
    before: bytes = b""
    written: int = 0
    in_hole: bool = False
    retire_at: float = 0.0

    def close(self) -> None:
        os.close(self.descriptor)


@dataclass(slots=True)
class Tail:
    """Follows one path that may not exist yet.

    `start`: byte offset for a file that is there at the first poll, "end", or a `Mark` of an earlier run.
    `poll` never blocks and never raises for what may happen to a log: it yields pieces, and `problems` holds
    what went wrong since the last time it was emptied.
    """

    path: str
    start: int | str | Mark = 0
    problems: list[Problem] = field(default_factory=list)
    _current: _File | None = None
    _retired: list[_File] = field(default_factory=list)
    _generations: int = 0
    _seen: dict[tuple[int, int], tuple[int, bytes]] = field(default_factory=dict)
    """Files that are done with, by device and inode: how far they were read and the bytes before. Inodes are
    given to new files, so the bytes decide."""
    _first: bool = True
    _complaint: int = 0
    _look_again: float = 0.0
    _copies: list[_File] = field(default_factory=list)

    def poll(self, now: float | None = None) -> Iterator[Piece]:
        now = time.monotonic() if now is None else now
        if self._first:
            self._first = False
            self._begin()
            for copy in self._copies:
                yield from self._drain(copy)
                self._remember(copy)
                copy.close()
            self._copies.clear()
        for file in list(self._retired):
            yield from self._drain(file)
            if now >= file.retire_at:
                self._retired.remove(file)
                self._remember(file)
                file.close()
        if self._current is not None:
            yield from self._drain(self._current)
        yield from self._turn(now)

    @property
    def size(self) -> int:
        """Bytes that the current file holds beyond what was read: the lag."""
        if self._current is None:
            return 0
        try:
            return max(os.fstat(self._current.descriptor).st_size - self._current.position, 0)
        except OSError:
            return 0

    @property
    def generation(self) -> int:
        return self._current.generation if self._current else -1

    def mark(self, unsettled: Callable[[int], int] = lambda _: 0) -> tuple[Mark, int] | None:
        """(where to go on after a restart, the generation there).

        `unsettled` tells for a generation how many of its bytes were read and must be read again. The oldest
        file with such bytes counts: the files after it are read again, too.
        """
        for file in self._opened():
            back = unsettled(file.generation)
            if back > 0 or file is self._current:
                offset = max(file.position - back, 0)
                before = self._bytes_before(file, offset)
                return Mark(file.device, file.inode, offset, before, time.time()), file.generation
        return None

    def close(self) -> None:
        for file in self._opened():
            file.close()
        self._retired, self._current = [], None

    # ------------------------------------------------------------------ opening

    def _begin(self) -> None:
        """Opens what is there at the start; files rotated away before belong to the past."""
        if isinstance(self.start, Mark):
            for path in self._siblings():
                if self._resume(path, self.start):
                    break
            else:
                self._current = self._open(self.path)
            known = self._current
            # Files that are older than the one we go on in were read by an earlier run.
            for path in self._siblings():
                status = _status(path)
                if status and known is not None and not _newer(status, known.descriptor):
                    self._pass_over(path)
            return
        for path in self._siblings():
            if path != self.path:
                self._pass_over(path)
        self._current = self._open(self.path)
        if self._current is not None and self.start:
            size = os.fstat(self._current.descriptor).st_size
            self._current.position = size if self.start == "end" else min(int(self.start), size)
            self._current.before = self._bytes_before(self._current, self._current.position)

    def _resume(self, path: str, mark: Mark) -> bool:
        status = _status(path)
        if status is None or (status.st_dev, status.st_ino) != (mark.device, mark.inode):
            return False
        file = self._open(path)
        if file is None:
            return False
        if status.st_size < mark.offset or self._bytes_before(file, mark.offset)[-len(mark.before) :] != mark.before:
            # The inode was given to another file, or the file was emptied: it is read from its start.
            self._current = file
            self._find_copies(mark)
            return True
        file.position, file.before = mark.offset, mark.before
        self._current = file
        if not mark.offset:
            self._find_copies(mark)
        return True

    def _find_copies(self, mark: Mark) -> None:
        """Copies of the file as it was at the mark: copytruncate while we were away left the rest there."""
        for path in self._siblings():
            status = _status(path)
            if path == self.path or status is None or status.st_mtime < mark.at - 1.0:
                continue
            if self._is_known(path, status) or (copy := self._open(path)) is None:
                continue
            if self._bytes_before(copy, mark.offset)[-len(mark.before) or FINGERPRINT :] == mark.before:
                copy.position, copy.before = mark.offset, mark.before
                self._copies.append(copy)
            else:
                copy.close()

    def _open(self, path: str) -> _File | None:
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
        except OSError as error:
            self._complain(error)
            return None
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            os.close(descriptor)
            return None
        if self._complaint:
            self._complaint = 0
            self.problems.append(Problem(self.path, "", "is readable again", "following goes on"))
        file = _File(descriptor, status.st_dev, status.st_ino, self._generations)
        self._generations += 1
        return file

    def _pass_over(self, path: str) -> None:
        """A file of the past: not ours to read, unless its inode is given to another one."""
        file = self._open(path)
        if file is not None:
            if all((file.device, file.inode) != (other.device, other.inode) for other in self._opened()):
                file.position = os.fstat(file.descriptor).st_size
                file.before = self._bytes_before(file, file.position)
                self._remember(file)
            file.close()

    def _remember(self, file: _File) -> None:
        if file.before:
            self._seen[(file.device, file.inode)] = (file.position, file.before)
        while len(self._seen) > REMEMBERED_FILES:
            del self._seen[next(iter(self._seen))]

    def _opened(self) -> list[_File]:
        return [*self._retired, *([self._current] if self._current else [])]

    def _is_known(self, path: str, status: os.stat_result) -> bool:
        """Whether a file is being read or was read before."""
        key = (status.st_dev, status.st_ino)
        if any(key == (file.device, file.inode) for file in self._opened()):
            return True
        if key not in self._seen:
            return False
        position, before = self._seen[key]
        try:
            with open(path, "rb") as file:
                file.seek(position - len(before))
                return file.read(len(before)) == before
        except OSError:
            return False

    def _complain(self, error: OSError) -> None:
        """Says once why the path cannot be opened; a file that is not there yet is no problem."""
        if error.errno in (errno.ENOENT, errno.ENOTDIR) or error.errno == self._complaint:
            return
        self._complaint = error.errno or -1
        reason = (error.strerror or str(error)).lower()
        self.problems.append(Problem(self.path, "", f"cannot be read: {reason}", "following waits for it"))

    def _siblings(self) -> list[str]:
        """The path and the names that rotation gives to its earlier files, the oldest first, the path last."""
        folder, name = os.path.split(self.path)
        try:
            names = os.listdir(folder or ".")
        except OSError:
            return [self.path]
        stem = name.removesuffix(".log")
        rotated = [
            os.path.join(folder, other)
            for other in names
            if other != name
            and not other.endswith(COMPRESSED)
            and (other.startswith((f"{name}.", f"{name}-")) or (stem != name and other.startswith(f"{stem}-")))
        ]
        dated = [(status.st_mtime_ns, path) for path in rotated if (status := _status(path))]
        return [*(path for _, path in sorted(dated)), self.path]

    # ------------------------------------------------------------------ reading

    def _drain(self, file: _File) -> Iterator[Piece]:
        """What the file holds beyond the last read. A file that shrank or changed begins anew."""
        try:
            status = os.fstat(file.descriptor)
            written, file.written = status.st_mtime_ns != file.written, status.st_mtime_ns
            if status.st_size < file.position or (written and self._changed(file)):
                yield from self._rest_of_copy(file)
                self._start_anew(file)
            yield from self._read(file)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                self._complain(error)

    @staticmethod
    def _read(file: _File) -> Iterator[Piece]:
        budget = BUDGET_BYTES
        while budget > 0:
            os.lseek(file.descriptor, file.position, os.SEEK_SET)
            data = os.read(file.descriptor, READ_BYTES)
            if not data:
                return
            file.position += len(data)
            budget -= len(data)
            file.before = (file.before + data)[-FINGERPRINT:]
            if file.in_hole:
                data = data.lstrip(b"\0")
                file.in_hole = not data
            if data:
                yield Piece(file.generation, data)

    def _changed(self, file: _File) -> bool:
        """Whether other bytes stand where the last ones were read: emptied and written again in between."""
        return bool(file.before) and self._bytes_before(file, file.position)[-len(file.before) :] != file.before

    def _rest_of_copy(self, file: _File) -> Iterator[Piece]:
        """What a copy of the emptied file holds beyond what was read: copytruncate keeps the old lines there."""
        for path in self._siblings():
            status = _status(path)
            if path == self.path or status is None or not file.before or self._is_known(path, status):
                continue
            copy = self._open(path)
            if copy is None:
                continue
            self._generations -= 1
            if self._bytes_before(copy, file.position)[-len(file.before) :] == file.before:
                copy.position, copy.before, copy.generation = file.position, file.before, file.generation
                yield from self._read(copy)
                self._remember(copy)
            copy.close()

    def _start_anew(self, file: _File) -> None:
        file.generation = self._generations
        self._generations += 1
        file.before = b""
        # A writer that did not open for appending goes on behind a hole of NULs.
        file.in_hole = True
        file.position = _first_data(file.descriptor)

    @staticmethod
    def _bytes_before(file: _File, offset: int) -> bytes:
        start = max(offset - FINGERPRINT, 0)
        try:
            os.lseek(file.descriptor, start, os.SEEK_SET)
            return os.read(file.descriptor, offset - start)
        except OSError:
            return b""

    def _turn(self, now: float) -> Iterator[Piece]:
        """Goes on with the file the path leads to now, and with those that came and went in between."""
        status = _status(self.path)
        current = self._current
        if (
            current is not None
            and status is not None
            and (status.st_dev, status.st_ino) == (current.device, current.inode)
        ):
            return
        if current is not None and status is None:
            if now < self._look_again:
                return
            self._look_again = now + MISSING_SECONDS
        if current is None and status is None:
            self._current = self._open(self.path)
            return
        for path in self._siblings():
            found = _status(path)
            if found is None or stat.S_ISDIR(found.st_mode) or self._is_known(path, found):
                continue
            file = self._open(path)
            if file is None:
                continue
            if path != self.path:
                # It came and went between two polls, or is a copy of what nobody read: read once.
                yield from self._drain(file)
                self._remember(file)
                file.close()
                continue
            yield from self._go_over(file, now)
        if self._current is current and status is not None:
            # The path was switched back to a file that was read before: what was added to it counts.
            yield from self._return(now, status)

    def _return(self, now: float, status: os.stat_result) -> Iterator[Piece]:
        for file in self._retired:
            if (file.device, file.inode) == (status.st_dev, status.st_ino):
                self._retired.remove(file)
                break
        else:
            opened = self._open(self.path)
            if opened is None:
                return
            file = opened
            file.position, file.before = self._seen.get((file.device, file.inode), (0, b""))
        yield from self._go_over(file, now)

    def _go_over(self, file: _File, now: float) -> Iterator[Piece]:
        """The path leads to `file` from now on; the one before is still read for a while."""
        if self._current is not None:
            self._current.retire_at = now + RETIRE_SECONDS
            self._retired.append(self._current)
        self._current = file
        yield from self._drain(file)


def _status(path: str | Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _newer(status: os.stat_result, descriptor: int) -> bool:
    """Whether a file was written after the one that is open."""
    try:
        return status.st_mtime_ns > os.fstat(descriptor).st_mtime_ns
    except OSError:
        return False


def _first_data(descriptor: int) -> int:
    """Where the first byte that is no hole stands, 0 where the system cannot tell."""
    seek_data = getattr(os, "SEEK_DATA", None)
    if seek_data is None:
        return 0
    try:
        return os.lseek(descriptor, 0, seek_data)
    except OSError:
        return 0
