"""All followed files: what the sources stand for now, where each was left, what is looked back at."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from explain.follow import Tail
from explain.live import Live
from explain.lognames import PACKED, belongs_to, logs_of, watched
from explain.marks import Left, Mark
from explain.model import Problem, reason_of
from explain.pastfiles import Others
from explain.startpoint import is_wide, look_back, start_of
from explain.state import State


class OtherTails(Others):
    """The tails of a run but that of `own`."""

    def __init__(self, opened: Sequence[tuple[int, Tail]], links: Iterable[str], own: str) -> None:
        """`links` leads to files that are followed under other names."""
        self._opened = opened
        self._links = links
        self._own = own

    def _tails(self) -> Iterator[Tail]:
        return (tail for _, tail in self._opened if tail.path != self._own)

    def read(self, path: str, status: os.stat_result) -> bool:
        return any(tail.reads(path, status) for tail in self._tails())

    def have_read(self, path: str, status: os.stat_result) -> bool:
        return any(tail.has_read(path, status) is not None for tail in self._tails())

    def links(self) -> list[str]:
        own = os.path.realpath(self._own)
        links = [*self._links, *(tail.path for tail in self._tails() if os.path.islink(tail.path))]
        return [path for path in links if os.path.realpath(path) == own]


class Tails:
    """The tails of the sources, with their numbers in `live.names`. `scan` starts new ones as files appear."""

    def __init__(
        self,
        sources: Sequence[str],
        live: Live,
        start: str,
        state: State,
        complain: Callable[[Problem], None],
        is_own: Callable[[str, os.stat_result], bool] = lambda _path, _status: False,
    ) -> None:
        """`is_own` tells whether we write a file ourselves: such a one in a followed folder is left alone."""
        self.opened: list[tuple[int, Tail]] = []
        self._sources = sources
        self._live = live
        self._start = start
        self._left = state.left
        self._complain = complain
        self._is_own = is_own
        self._scanned_at = state.at
        """When the folders were looked through last, 0 for never: files that appeared since are new."""
        self._first = True
        self._links: set[str] = set()
        """Links to files that are followed under other names."""
        self._settled: dict[int, dict[int, int]] = {}
        """By source and generation: the line of the mark."""

    def scan(self) -> None:
        """Starts to follow what the sources name and is not followed yet."""
        for number, tail in list(self.opened):
            if tail.lost and tail.path not in self._sources:
                self.opened.remove((number, tail))
                self._left.pop(tail.path, None)
        known = {tail.path for _, tail in self.opened}
        now = time.time()
        for source in self._sources:
            paths = logs_of(source, known | self._left.keys())
            if self._first:  # what was left may stand under another name only, and its own come later
                paths += [path for path in self._left if path not in paths and belongs_to(path, source)]
            for path in sorted(paths, key=lambda path: path not in self._left):
                if path not in known and self._follow(path, named=path == source):
                    known.add(path)
            if self._first and not paths:
                self._complain(Problem(source, "", "holds no log yet", "following waits for one"))
            if self._first and source.endswith(PACKED) and os.path.isfile(source):
                self._complain(Problem(source, "", "is packed and will not grow", "read it without --follow"))
            elif self._first and is_wide(source):
                hint = "read it without --follow, or have it written as UTF-8"
                self._complain(Problem(source, "", "is UTF-16 text, which is not followed", hint))
        self._scanned_at, self._first = now, False

    def watched(self) -> list[str]:
        """Paths whose folders tell of changes."""
        return [path for source in self._sources for path in watched(source)]

    def left(self) -> dict[str, Left]:
        """How to go on after a restart, by path; also for files that are not followed now."""
        for number, tail in self.opened:
            found = tail.left(partial(self._live.settled, number))
            if found is not None:
                left, generations = found
                self._left[tail.path] = left
                self._settled[number] = {one: mark.line for one, mark in zip(generations, left.marks, strict=True)}
        return self._left

    def is_settled(self, source: int, generation: int, line: int) -> bool:
        """Whether a line stands before the marks: it is not read again after a restart.

        A generation without a mark is done with, unless it is newer than the marks.
        """
        lines = self._settled.get(source)
        return lines is not None and (line < lines[generation] if generation in lines else generation < max(lines))

    def _follow(self, path: str, *, named: bool) -> bool:
        """Whether it is followed from now on; False where another tail reads the same file, or we write it."""
        start: int | str | Left = 0
        try:
            status = os.stat(path)
        except OSError:
            status = None
        if status is not None and path not in self._left and self._others(path).read(path, status):
            if os.path.islink(path):
                self._links.add(path)
            return False
        if status is not None and not named and self._is_own(path, status):
            return False
        number = len(self._live.names)
        self._live.names.append(path)
        if path in self._left:
            start = self._left[path]
            for generation, mark in enumerate(start.marks):
                self._live.start_at_line(number, generation, mark.line)
        elif self._scanned_at and not (named and self._first):
            read = (tail.has_read(path, status) for _, tail in self.opened if status is not None)
            start = Left((next((mark for mark in read if mark is not None), Mark.nowhere(self._scanned_at)),))
        else:
            start, line = start_of(path, self._start)
            self._live.start_at_line(number, 0, line)
            if self._start == "end":
                self._look_back(number, path, start)
        self.opened.append((number, Tail(path, start, self._others(path), named)))
        return True

    def _others(self, own: str) -> OtherTails:
        return OtherTails(self.opened, self._links, own)

    def _look_back(self, number: int, path: str, end: int) -> None:
        """Reads the end of what was written before: how the server was started, whether it failed already."""
        try:
            data, line = look_back(path, end)
        except FileNotFoundError:
            return
        except OSError as error:
            self._complain(Problem(path, "", f"cannot be read: {reason_of(error)}", "following waits for it"))
            return
        if data:
            self._live.start_at_line(number, -1, line)
            self._live.feed(number, -1, data, time.monotonic())
