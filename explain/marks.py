"""Where files were left: enough to find them again, also under another name, and to go on in them."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import Any

from explain.values import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """Where one file was left. An inode is given to other files, so the bytes before `offset` decide."""

    device: int
    inode: int
    offset: int
    before: bytes
    """The bytes before `offset`, at most `FINGERPRINT`: another content means another file."""
    line: int = 1
    """The number of the line at `offset`."""
    at: float = 0.0
    """When the file was opened, in seconds of the epoch: no file that was written last before followed it."""

    def stands_in(self, path: str, status: os.stat_result) -> bool:
        """Whether this is the file of the mark, by what stands before it."""
        if (self.device, self.inode) != (status.st_dev, status.st_ino) or not self.before:
            return False
        try:
            with open(path, "rb") as file:
                file.seek(self.offset - len(self.before))
                return file.read(len(self.before)) == self.before
        except OSError:
            return False

    @classmethod
    def nowhere(cls, at: float) -> Mark:
        """The path led to no file at this time: whatever was written later was not read."""
        return cls(0, 0, 0, b"", at=at)


@dataclass(frozen=True, slots=True)
class Seen:
    """A file of the past that is done with up to `offset`; `digest` is that of the `length` bytes before."""

    device: int
    inode: int
    offset: int
    length: int
    digest: str

    @classmethod
    def of(cls, device: int, inode: int, offset: int, before: bytes) -> Seen:
        return cls(device, inode, offset, len(before), _digest(before))

    def continues(self, before: bytes) -> bool:
        return _digest(before) == self.digest


@dataclass(frozen=True, slots=True)
class Left:
    """How a path was left: the files that may still grow, the current one last, and earlier ones that are read."""

    marks: tuple[Mark, ...]
    seen: tuple[Seen, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "marks": [
                [mark.device, mark.inode, mark.offset, mark.before.hex(), mark.line, mark.at] for mark in self.marks
            ],
            "seen": [[one.device, one.inode, one.offset, one.length, one.digest] for one in self.seen],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Left:
        """Raises KeyError, TypeError or ValueError for what `as_json` did not write."""
        marks = tuple(
            Mark(int(device), int(inode), int(offset), bytes.fromhex(before), int(line), float(at))
            for device, inode, offset, before, line, at in value["marks"]
        )
        if not marks:
            raise ValueError("no mark")
        return cls(
            marks,
            tuple(
                Seen(int(device), int(inode), int(offset), int(length), str(digest))
                for device, inode, offset, length, digest in value["seen"]
            ),
        )


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
