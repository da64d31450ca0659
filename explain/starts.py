"""One start of a server, and what its log says before it, as the reader of a launch collects it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explain.model import Frame, MemoryStep, Place, Pool
from explain.prefixes import Prefix, read_prefix
from explain.stacks import Stack
from explain.values import dataclass, field

BatchLine = tuple[int, str | bytes, str | None]
"""Its number, the line as it was read, the carrier's time."""
Stream = tuple[int, str]
"""The number of a source and the key of the stream in it."""


@dataclass(slots=True)
class Start:
    """One start of a server. `line` is that of its `server_args=` line, or of another one that shows that it is not
    the server before; 0 for one before any of them."""

    stream: Stream
    line: int
    place: Place | None
    number: int
    """How many starts of this stream came before."""
    args: Mapping[str, Any] = field(default_factory=dict)
    refused: bool = False
    """Its arguments were refused, so that it never printed them."""
    ended: int = 0
    """The line that shows that the server went down, 0 where none does."""
    ended_time: str | None = None
    rotated: bool = False
    """The file it was read from was rotated since: `line` and `ended` are no lines of the new one."""
    ready: Place | None = None
    steps: list[MemoryStep] = field(default_factory=list)
    pools: list[Pool] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)
    model_class: str | None = None
    quantization: str | None = None
    attention_backend: str | None = None
    gpu: str | None = None
    command: str | None = None
    command_place: Place | None = None
    ranks: dict[str, None] = field(default_factory=dict)
    """The ranks that its lines name."""
    messages: dict[str, str] = field(default_factory=dict)
    """Lines whose wording may tell the release, by their beginnings."""
    frames: dict[tuple[str, int], Frame] = field(default_factory=dict)
    stacks: dict[str, Stack] = field(default_factory=dict)
    """Of each rank that a watchdog had dumped, the last one."""

    @property
    def progressed(self) -> bool:
        return bool(self.steps or self.ready or self.ended)


@dataclass(slots=True)
class Early:
    """What a source said before its first start, or where no start shows.

    `commands` are (place, text, whether a shell told that it ended).
    """

    commands: list[tuple[Place, str, bool]] = field(default_factory=list)
    backend: str | None = None

    def command(self, line: int | None = None) -> tuple[Place | None, str | None]:
        """The last command before a line, else the first of which a shell told behind it."""
        before = [one for one in self.commands if line is None or one[0].line <= line]
        ended = [one for one in self.commands if one[2]]
        place, text, _ = before[-1] if before else ended[0] if ended else (None, None, False)
        return place, text


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of a stream that shows that requests were served; `event` is the failure it came after."""

    stream: Stream
    line: int
    text: str
    time: str | None


def stamped(line: str | bytes) -> Prefix | None:
    """SGLang's prefix of a batch line as it was read: a carrier may stand before it."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    stamp = text.rfind("[20", 0, max(text.find(" batch"), 0))
    return read_prefix(text[stamp:] if stamp >= 0 else text.strip())
