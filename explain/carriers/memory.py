"""What is remembered of one source from line to line."""

from __future__ import annotations

from explain.values import dataclass, field


@dataclass(slots=True)
class Memory:
    """Things a single line cannot tell.

    Some prefixes look like ordinary words (`sglang-0 server `, `3: `). A carrier that has seen one of them
    before a line that is surely a server's takes it as known from then on; until then such lines stay whole.
    """

    number: int = 0
    """How many lines were read, the present one included."""
    stream: str = ""
    """Key of the carriers that were taken off the present line so far."""
    known: set[tuple[str, str]] = field(default_factory=set)
    """(carrier's name, label) pairs that were proved by a line."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Carrier's name -> number of its last line."""
    keys: dict[str, str] = field(default_factory=dict)
    """Carrier's name -> key of its last line."""
    widths: dict[str, int] = field(default_factory=dict)
    """Carrier's name -> a column: where the text of its last line began."""
    unfinished: dict[str, str] = field(default_factory=dict)
    """Key of a carrier that cuts long lines -> the whole key under which the first piece was handed out."""
