"""The earlier files of a path: their names, and which of them are done with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from explain.lognames import PACKED, rotated
from explain.marks import Mark, Seen
from explain.openfile import OpenFile

REMEMBERED_FILES = 256


def status_of(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


class Others:
    """What the other tails of a run do with files that more than one path may lead to; here there are none."""

    def read(self, path: str, status: os.stat_result) -> bool:
        """Whether one reads this file now."""
        return False

    def have_read(self, path: str, status: os.stat_result) -> bool:
        """Whether one is done with it."""
        return False

    def links(self) -> list[str]:
        """Their paths that are links to ours: a copy that is made through a link has the link's name."""
        return []


class Past:
    """What is known of the files that a path led to before. Inodes are given to new files, so bytes decide."""

    def __init__(self, path: str, links: Callable[[], list[str]]) -> None:
        self._path = path
        self._links = links
        self._seen: dict[tuple[int, int], Seen] = {}

    @property
    def seen(self) -> tuple[Seen, ...]:
        """The files that are done with, the last one last."""
        return tuple(self._seen.values())

    def know(self, seen: Iterable[Seen]) -> None:
        """What an earlier run was done with."""
        self._seen = {(one.device, one.inode): one for one in seen}

    def files(self) -> list[str]:
        """The names that rotation gives to earlier files, also where the path is a link, the oldest first."""
        own = [self._path, os.path.realpath(self._path)] if os.path.islink(self._path) else [self._path]
        found = [path for name in dict.fromkeys([*own, *self._links()]) for path in rotated(name)]
        return list(dict.fromkeys(found))

    def other_names(self, mark: Mark) -> Iterator[str]:
        """Other names under which the file of a mark is found: renamed by hand, or a link that was switched."""
        if not mark.inode:
            return
        for folder in {os.path.dirname(self._path), os.path.dirname(os.path.realpath(self._path))}:
            try:
                entries = list(os.scandir(folder or "."))
            except OSError:
                continue
            yield from (one.path for one in entries if one.inode() == mark.inode and not one.name.endswith(PACKED))

    def has_read(self, path: str, status: os.stat_result) -> Mark | None:
        """How far a file was read that is done with; None for any other."""
        seen = self._seen.get((status.st_dev, status.st_ino))
        if seen is None:
            return None
        try:
            with open(path, "rb") as file:
                file.seek(seen.offset - seen.length)
                before = file.read(seen.length)
        except OSError:
            return None
        return Mark(seen.device, seen.inode, seen.offset, before) if seen.continues(before) else None

    def done_with(self, file: OpenFile) -> None:
        """Closes a file and remembers how far it was read."""
        if file.before:
            self._seen.pop((file.device, file.inode), None)
            self._seen[(file.device, file.inode)] = Seen.of(file.device, file.inode, file.position, file.before)
        while len(self._seen) > REMEMBERED_FILES:
            del self._seen[next(iter(self._seen))]
        file.close()
