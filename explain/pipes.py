"""Standard input, or the output of a command, read as it arrives."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO

from explain.announce import write_through
from explain.values import dataclass, field

PIPE_BYTES = 256 * 1024
PIPE_AHEAD = 64


@dataclass(slots=True)
class Pipe:
    """Standard input, or the output of a command, read by a thread of its own as it arrives."""

    name: str
    stream: BinaryIO
    tee: BinaryIO | None = None
    pieces: queue.Queue[bytes | None] = field(default_factory=lambda: queue.Queue(PIPE_AHEAD))
    wake: threading.Event = field(default_factory=threading.Event)
    ended: bool = False
    line_open: bool = False
    """Whether what was passed on last ended within a line."""
    passing: bool = False
    """Whether something that arrived is not passed on yet: a reader pauses, or we are busy."""
    unheard: bool = False
    passed_on: threading.Event = field(default_factory=threading.Event)
    """Set when the stream ended and all of it was passed on."""

    def start(self) -> None:
        threading.Thread(target=self._read, name=f"read-{self.name}", daemon=True).start()

    def _read(self) -> None:
        read: Callable[[int], bytes] = getattr(self.stream, "read1", self.stream.read)
        while True:
            try:
                data = read(PIPE_BYTES)
            except (OSError, ValueError):
                data = b""
            if not data:
                break
            self.passing = True
            if self.tee is not None:
                try:
                    write_through(self.tee, data)
                    self.line_open = not data.endswith(b"\n")
                except (OSError, ValueError):
                    self.tee = None  # the reader of the log went away; explaining goes on
            if not self.unheard:
                self.pieces.put(data)
                self.wake.set()
            self.passing = False
        self.passed_on.set()
        self.pieces.put(None)
        self.wake.set()

    def pass_on_only(self) -> None:
        """Nobody takes the pieces any more: what is to come is passed on, its writer never waits for us."""
        self.unheard = True
        with suppress(queue.Empty):
            while True:
                self.pieces.get_nowait()

    def take(self) -> Iterator[bytes]:
        """What has arrived, without waiting."""
        while not self.ended:
            try:
                data = self.pieces.get_nowait()
            except queue.Empty:
                return
            if data is None:
                self.ended = True
                return
            yield data
