"""Bytes as they were read -> blocks that end at line ends."""

from __future__ import annotations

from collections.abc import Iterator

from explain.model import Block

BLOCK_BYTES = 1024 * 1024


class LineCutter:
    """Cuts what was read into blocks at line ends. Holds less than two blocks."""

    def __init__(self, source: int, block_bytes: int = BLOCK_BYTES) -> None:
        self._source = source
        self._limit = block_bytes
        self._rest: list[bytes] = []
        self._held = 0
        self._offset = 0

    def add(self, data: bytes) -> Iterator[Block]:
        cut = data.rfind(b"\n") + 1
        if cut:
            # One copy at most: this is the main path.
            complete = data
            if self._rest or cut < len(data):
                complete = b"".join((*self._rest, memoryview(data)[:cut]))
                self._rest, self._held = [], 0
            yield from self._whole_lines(complete)
            data = data[cut:]
        if data:
            self._rest.append(data)
            self._held += len(data)
            while self._held > self._limit:
                yield from self._piece()

    @property
    def held(self) -> int:
        """Bytes of a line that has not ended yet."""
        return self._held

    def _whole_lines(self, data: bytes) -> Iterator[Block]:
        """Complete lines; a line that is longer than a block leaves in pieces, whatever size the reads had."""
        first = data.find(b"\n", 0, self._limit + 1)
        if first < 0:
            self._rest, self._held = [data], len(data)
            while self._held > self._limit and self._rest[0].find(b"\n", 0, self._limit + 1) < 0:
                yield from self._piece()
            data = b"".join(self._rest)
            self._rest, self._held = [], 0
        yield self._block(data, last=False)

    def _piece(self) -> Iterator[Block]:
        """The first block's worth of a line that has no end in sight, cut between two characters."""
        data = b"".join(self._rest)
        cut = _character_start(data, self._limit)
        self._rest, self._held = [data[cut:]], len(data) - cut
        yield self._block(data[:cut], last=False)

    def finish(self) -> Iterator[Block]:
        if self._held:
            yield self._block(b"".join(self._rest), last=True)
            self._rest, self._held = [], 0

    def _block(self, data: bytes, *, last: bool) -> Block:
        block = Block(self._source, self._offset, data, last)
        self._offset += len(data)
        return block


def _character_start(data: bytes, limit: int) -> int:
    """Where to cut at or shortly before `limit` without cutting a UTF-8 character."""
    cut = limit
    while cut > limit - 4 and cut < len(data) and 0x80 <= data[cut] < 0xC0:
        cut -= 1
    return cut
