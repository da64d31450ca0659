"""The end of a source: its last batch line and what came after it, kept as bytes until somebody asks.

Nothing is read line by line: of each block the last place of a word is looked up, from its end.
"""

from __future__ import annotations

MARK = b"#running-req"
"""Stands in every batch line of every release."""
KEPT = 64 * 1024
"""Bytes that are kept behind the last batch line, and of the end."""
_TROUBLE = (b'" 5', b"Health check failed", b"Receive: ")


class LastLines:
    """Feed it the blocks of one source in order."""

    __slots__ = ("_batch", "_closed", "_held", "_last", "_last_size", "_since")

    def __init__(self) -> None:
        self._batch: tuple[bytes, int, int] | None = None
        """The block that holds the last batch line, the number of its first line, the place of the mark."""
        self._since: list[tuple[bytes, int]] = []
        self._held = 0
        self._last: list[tuple[bytes, int]] = []
        self._last_size = 0
        self._closed = False

    def take(self, data: bytes, first_line: int) -> None:
        """A block and the number of its first line."""
        found = data.rfind(MARK)
        if found >= 0:
            self._batch, self._since, self._held = (data, first_line, found), [], 0
        elif self._batch is not None and self._held < KEPT:
            self._since.append((data[:KEPT], first_line))
            self._held += len(data)
        self._last.append((data, first_line))
        self._last_size += len(data)
        while self._last_size - len(self._last[0][0]) >= KEPT:
            self._last_size -= len(self._last.pop(0)[0])

    def close(self, *, keep: bool) -> None:
        """Nothing more comes: lets go of the blocks. With `keep`, what may be asked for stays, else the batch line."""
        if self._batch is not None:
            data, first_line, found = self._batch
            start = data.rfind(b"\n", 0, found) + 1
            end = data.find(b"\n", found)
            stop = (end if end >= 0 else len(data)) + (KEPT if keep else 0)
            self._batch = data[start:stop], first_line + data.count(b"\n", 0, start), found - start
        lines = self.end() if keep else {}
        self._closed = True
        self._since = self._since if keep else []
        first_line = min(lines, default=0)
        rows = [lines.get(number, b"") for number in range(first_line, max(lines, default=-1) + 1)]
        self._last = [(b"\n".join(rows), first_line)] if rows else []
        self._last_size = sum(len(data) for data, _ in self._last)

    def batch_line(self) -> tuple[int, bytes] | None:
        """The number and the bytes of the last line that looks like a batch line."""
        if self._batch is None:
            return None
        data, first_line, found = self._batch
        start = data.rfind(b"\n", 0, found) + 1
        end = data.find(b"\n", found)
        return first_line + data.count(b"\n", 0, start), data[start : end if end >= 0 else len(data)]

    def troubled(self) -> bool:
        """Whether something stands behind the last batch line, or in it, that an idle server does not print."""
        if self._batch is None:
            return False
        data, _, found = self._batch
        end = data.find(b"\n", found)
        rest = data[end if end >= 0 else len(data) :][:KEPT]
        queue = data.find(b"#queue-req: ", found, end if end >= 0 else len(data))
        if queue >= 0 and data[queue + 12 : queue + 13] not in (b"0", b"") and (rest.strip() or self._since):
            return True
        parts = [rest, *(one for one, _ in self._since), *(one[-KEPT:] for one, _ in self._last if one is not data)]
        return any(word in part for part in parts for word in _TROUBLE)

    def after_batch(self) -> dict[int, bytes]:
        """Lines behind the last batch line by their numbers: the first and the last of them, where they are many."""
        line = self.batch_line()
        if self._batch is None or line is None:
            return {}
        data, _, found = self._batch
        end = data.find(b"\n", found)
        parts = [(data[end + 1 : end + 1 + KEPT], line[0] + 1)] if end >= 0 else []
        lines = {number: text for part in (*parts, *self._since) for number, text in _lines(*part)}
        return lines | {number: text for number, text in self.end().items() if number > line[0]}

    def end(self) -> dict[int, bytes]:
        """The last lines by their numbers."""
        lines: dict[int, bytes] = {}
        for data, first_line in self._last:
            start = 0
            if len(data) > KEPT and not self._closed:
                start = data.find(b"\n", len(data) - KEPT) + 1
                if not start:
                    continue  # one line that is longer than what is looked at
                first_line += data.count(b"\n", 0, start)
            lines.update(_lines(data[start:], first_line))
        return lines


def _lines(data: bytes, first_line: int) -> list[tuple[int, bytes]]:
    return [(number, line) for number, line in enumerate(data.split(b"\n"), first_line) if line.strip()]
