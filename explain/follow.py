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

from explain.marks import Left, Mark
from explain.model import Problem, reason_of
from explain.openfile import READ_BYTES, OpenFile, Piece
from explain.pastfiles import Others, Past, status_of
from explain.values import dataclass, field

RETIRE_SECONDS = 120.0
"""How long a file that the path no longer leads to is still read after it last grew: its writer may hold on."""
MOST_RETIRED = 16
MISSING_SECONDS = 1.0
"""How often the folder is looked through while the path leads nowhere."""
GONE_SECONDS = 5.0
"""Rotation leaves no file for a moment; what is gone for longer is worth a word."""
SLACK_SECONDS = 60.0
"""Clocks of a file system may differ from ours by so much."""


@dataclass(slots=True)
class Tail:
    """Follows one path that may not exist yet.

    `start`: byte offset for a file that is there at the first poll, "end", or how an earlier run left it.
    What `others` read is left to them: two names may lead to a file. `named`: the user named this path, so it is
    worth a word when it is not there.
    `poll` never blocks and never raises for what may happen to a log: it yields pieces, and `problems` holds
    what went wrong since the last time it was emptied.
    """

    path: str
    start: int | str | Left = 0
    others: Others = field(default_factory=Others)
    named: bool = True
    problems: list[Problem] = field(default_factory=list)
    _current: OpenFile | None = None
    _retired: list[OpenFile] = field(default_factory=list)
    _unread: list[OpenFile] = field(default_factory=list)
    """Earlier files that an earlier run did not read to their end."""
    _generations: int = 0
    _past: Past = field(init=False)
    _first: bool = True
    _complaint: int = 0
    """Why the path cannot be read, as it was told last: an error number, 0 where it can."""
    _nowhere: Mark | None = None
    _gone_at: float | None = None
    _look_again: float = 0.0

    def __post_init__(self) -> None:
        self._past = Past(self.path, self.others.links)

    def poll(self, now: float | None = None) -> Iterator[Piece]:
        now = time.monotonic() if now is None else now
        if self._first:
            self._first = False
            self._begin(now)
            if status_of(self.path) is None:
                self._miss("is not there yet")
            while self._unread:
                yield from self._finish(self._unread[0], now)
                del self._unread[0]
        for file in list(self._retired):
            try:
                yield from self._look_once_more(file, now)
            except OSError as error:
                self._complain(error)
        if self._current is not None:
            yield from self._drain(self._current, now)
        yield from self._turn(now)

    @property
    def size(self) -> int:
        """Bytes that the current file holds beyond what was read: the lag."""
        return self._current.unread if self._current else 0

    @property
    def lost(self) -> bool:
        """Whether the path leads nowhere and nothing of it is read any more."""
        return not (self._first or self._current or self._retired or os.path.lexists(self.path))

    def left(self, unsettled: Callable[[int], tuple[int, int]] = lambda _: (0, 1)) -> tuple[Left, list[int]] | None:
        """How to go on after a restart, and the generations of the marks.

        `unsettled` tells for a generation how many of its bytes were read and must be read again, and the number
        of the line there. None while what was returned before still holds.
        """
        if self._first or self._unread:
            return None
        marks, generations = [], []
        for file in self._opened():
            back, line = unsettled(file.generation)
            offset = max(file.position - back, 0)
            before = file.bytes_before(offset)
            if not file.holds(file.position, file.before):
                return None  # emptied since it was read: the next poll sees to it
            marks.append(Mark(file.device, file.inode, offset, before, line, file.opened_at))
            generations.append(file.generation)
        if self._current is None:
            self._nowhere = self._nowhere or Mark.nowhere(time.time())
            marks.append(self._nowhere)
            generations.append(self._generations)
        return Left(tuple(marks), self._past.seen), generations

    def close(self) -> None:
        for file in self._opened():
            file.close()
        self._retired, self._current = [], None

    def reads(self, path: str, status: os.stat_result) -> bool:
        """Whether it reads this file now, or will with its first poll."""
        if self._first:
            expected = status_of(self.path)
            left = self.start.marks if isinstance(self.start, Left) else ()
            same = expected is not None and os.path.samestat(expected, status)
            return same or any(mark.stands_in(path, status) for mark in left)
        return any(file.is_at(status) for file in self._opened())

    def has_read(self, path: str, status: os.stat_result) -> Mark | None:
        """How far it read a file that it is done with; None where it never did."""
        return self._past.has_read(path, status)

    # ------------------------------------------------------------------ opening

    def _begin(self, now: float) -> None:
        """Opens what is there at the start; files rotated away before belong to the past."""
        if isinstance(self.start, Left):
            self._go_on(self.start, now)
            if self._complaint:  # what was left holds until the file can be read
                self.close()
                self._first = True
            return
        for path in self._past.files():
            self._pass_over(path)
        self._current = self._open_path()
        if self._current is not None and self.start:
            size = self._current.size
            self._current.go_to(size if self.start == "end" else min(int(self.start), size))

    def _go_on(self, left: Left, now: float) -> None:
        """Goes on as an earlier run left it, with what was written while nobody read.

        The generation of a mark is its number, so that lines can be numbered on.
        """
        self._past.know(left.seen)
        *earlier, last = left.marks
        self._generations = len(left.marks)
        for number, mark in enumerate(earlier):
            file = self._find(mark)
            if file is not None and file.go_on(mark.offset, mark.before, number):
                file.retire_at = now + RETIRE_SECONDS
                self._retired.append(file)
            elif file is not None:
                file.close()
        self._current = self._find(last)
        goes_on = self._current is not None and self._current.go_on(last.offset, last.before, len(earlier))
        if not goes_on or not last.offset:
            # Gone, packed, emptied, or there was none: all that was written since then was not read. Emptied,
            # filled, copied and emptied again is the same as untouched where nothing had been read.
            self._unread = self._written_since(last, len(earlier))
        self._current = self._current or self._open_path()
        if self._current is not None:
            self._current.opened_at = last.at
            if not self._current.position:  # newer than all that is read before it
                self._current.generation, self._generations = self._generations, self._generations + 1

    def _find(self, mark: Mark) -> OpenFile | None:
        """The file of a mark, whatever its name is now."""
        for path in [*self._past.files(), self.path, *self._past.other_names(mark)]:
            status = status_of(path)
            if mark.inode and status and (status.st_dev, status.st_ino) == (mark.device, mark.inode):
                return self._open(path)
        return None

    def _written_since(self, mark: Mark, generation: int) -> list[OpenFile]:
        """Earlier files that nobody read; the copy that holds a mark from there on."""
        found: list[OpenFile] = []
        for path in self._past.files():
            status = status_of(path)
            if status is None or not self._is_news(path, status, mark.at) or (file := self._open(path)) is None:
                continue
            if mark.offset and not any(one.is_copy for one in found):
                file.is_copy = file.go_on(mark.offset, mark.before, generation)
            if file.size:
                found.append(file)
            else:
                file.close()
        return found

    def _open_path(self) -> OpenFile | None:
        status = status_of(self.path)
        return None if status is not None and self.others.read(self.path, status) else self._open(self.path)

    def _open(self, path: str) -> OpenFile | None:
        try:
            file = OpenFile.open(path, self._generations)
        except OSError as error:
            self._complain(error)
            return None
        if file is None:
            return None
        self._welcome()
        self._generations += 1
        return file

    def _pass_over(self, path: str) -> None:
        """A file of the past: not ours to read, unless its inode is given to another one."""
        file = self._open(path)
        if file is None:
            return
        if all((file.device, file.inode) != (other.device, other.inode) for other in self._opened()):
            file.go_to(file.size)
            self._past.done_with(file)
        else:
            file.close()

    def _opened(self) -> list[OpenFile]:
        return [*self._retired, *([self._current] if self._current else [])]

    def _is_known(self, path: str, status: os.stat_result) -> bool:
        """Whether a file is being read or was read before."""
        if any(file.is_at(status) for file in self._unread) or self.reads(path, status):
            return True
        if self.others.read(path, status) or self.others.have_read(path, status):
            return True
        return self.has_read(path, status) is not None

    def _is_news(self, path: str, status: os.stat_result, since: float) -> bool:
        """Whether an earlier file was written `since` then and not read; an unpacked old one is no news."""
        return status.st_mtime >= since - SLACK_SECONDS and not self._is_known(path, status)

    def _is_copy(self, file: OpenFile) -> bool:
        """Whether it is a copy of what was read already: made by hand, or before a file is emptied."""
        end, last = file.size, file.bytes_before(file.size)
        return any(one.position >= end and last and one.bytes_before(end) == last for one in self._opened())

    def _complain(self, error: OSError) -> None:
        """Says once why the path cannot be opened; rotation may have moved it away in this moment."""
        if error.errno in (errno.ENOENT, errno.ENOTDIR) or error.errno == self._complaint:
            return
        self._complaint = error.errno or -1
        self.problems.append(Problem(self.path, "", f"cannot be read: {reason_of(error)}", "following waits for it"))

    def _welcome(self) -> None:
        """Says that what was complained about is over."""
        if self._complaint:
            words = "is there" if self._complaint == errno.ENOENT else "is readable again"
            self._complaint = 0
            self.problems.append(Problem(self.path, "", words, "following goes on"))

    def _miss(self, words: str) -> None:
        if self.named and not self._complaint:
            self._complaint = errno.ENOENT
            self.problems.append(Problem(self.path, "", words, "following waits for it"))

    # ------------------------------------------------------------------ reading

    def _drain(self, file: OpenFile, now: float) -> Iterator[Piece]:
        """What the file holds beyond the last read. A file that shrank or changed begins anew."""
        if not file.changed():
            return
        try:
            if not file.position:  # it may have been filled, copied and emptied since
                yield from self._rest_of_copy(file, now)
            yield from file.read()
            if file.emptied:
                yield from self._rest_of_copy(file, now)
                file.start_anew(self._generations)
                self._generations += 1
                yield from file.read()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                self._complain(error)

    def _look_once_more(self, file: OpenFile, now: float) -> Iterator[Piece]:
        """A file of the past may still grow. Where it was emptied, or a copy changed, another is written over it."""
        if file.changed():
            if not file.is_copy:
                for piece in file.read():
                    file.retire_at = now + RETIRE_SECONDS
                    yield piece
            if file.emptied or file.is_copy:
                self._retired.remove(file)
                file.close()
                return
        if not file.unread and (now >= file.retire_at or len(self._retired) > MOST_RETIRED):
            self._retired.remove(file)
            self._past.done_with(file)

    def _finish(self, file: OpenFile, now: float) -> Iterator[Piece]:
        """All that a file of the past holds. It is kept for a while: its last lines may still be open."""
        file.retire_at = now + RETIRE_SECONDS
        self._retired.append(file)
        before = -1
        file.changed()
        while file.position > before:
            before = file.position
            yield from file.read()

    def _rest_of_copy(self, file: OpenFile, now: float) -> Iterator[Piece]:
        """What copies of the emptied file hold beyond what was read: copytruncate keeps the old lines there."""
        after = not file.position
        for path in self._past.files():
            status = status_of(path)
            if status is None or not self._is_news(path, status, file.opened_at) or (copy := self._open(path)) is None:
                continue
            copy.is_copy = True
            if file.position and not after and copy.go_on(file.position, file.before, file.generation):
                after = True
            elif not after or not copy.size or self._is_copy(copy):
                copy.close()
                continue
            yield from self._finish(copy, now)

    def _turn(self, now: float) -> Iterator[Piece]:
        """Goes on with the file the path leads to now, and with those that came and went in between."""
        status = status_of(self.path)
        current = self._current
        if status is not None:
            self._gone_at = self._nowhere = None
            if current is not None and current.is_at(status):
                self._welcome()
                return
            if self.others.read(self.path, status):
                return
        else:
            self._gone_at = now if self._gone_at is None else self._gone_at
            if now - self._gone_at >= GONE_SECONDS:
                self._miss("is gone")
            if current is None:
                self._current = self._open(self.path)
                return
            if now < self._look_again:
                return
            self._look_again = now + MISSING_SECONDS
        if current is not None and current.unread > READ_BYTES:
            return  # the old file is finished first
        for path in [*self._past.files(), self.path]:
            found = status_of(path)
            if found is None or stat.S_ISDIR(found.st_mode):
                continue
            if not self._is_news(path, found, current.opened_at if current and path != self.path else 0.0):
                continue
            file = self._open(path)
            if file is None:
                continue
            if path != self.path and not file.size:
                file.close()  # a copy may be written over it
            elif path != self.path and self._is_copy(file):
                file.go_to(file.size)
                self._past.done_with(file)
            elif path != self.path:
                # It came and went between two polls, or is a copy of what nobody read: read once.
                yield from self._finish(file, now)
            else:
                yield from self._go_over(file, now)
        if self._current is current and status is not None:
            # The path was switched back to a file that was read before: what was added to it counts.
            yield from self._return(now, status)
        elif self._current is current and current is not None and os.fstat(current.descriptor).st_nlink == 0:
            # Deleted: its writer may hold on, but its room on the disk must not be taken for ever.
            self._retire(now)

    def _return(self, now: float, status: os.stat_result) -> Iterator[Piece]:
        file = next((one for one in self._retired if one.is_at(status)), None)
        if file is not None:
            self._retired.remove(file)
        elif (file := self._open(self.path)) is not None:
            if (read := self.has_read(self.path, status)) is not None:
                file.position, file.before = read.offset, read.before
        else:
            return
        yield from self._go_over(file, now)

    def _go_over(self, file: OpenFile, now: float) -> Iterator[Piece]:
        """The path leads to `file` from now on; the one before is still read for a while."""
        self._retire(now)
        self._current = file
        yield from self._drain(file, now)

    def _retire(self, now: float) -> None:
        if self._current is not None:
            self._current.retire_at = now + RETIRE_SECONDS
            self._retired.append(self._current)
            self._current = None
