"""Lines around spots -> `Event`. Keeps streams apart; knows nothing of records and templates.

Two steps. `Assembler` collects the lines of one *entry*: what one program wrote at once, from a prefix to the
next prefix of the same stream. `split` (in `entries`) reads an entry: log messages, Python tracebacks with
their chains, native crashes.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from explain.bounds import within
from explain.entries import Entry, split, usual_event
from explain.model import Event, Line
from explain.prefixes import Prefix, read_prefix
from explain.tracebacks import HEADER, is_exception_line, match_frame
from explain.values import dataclass, field
from explain.wholes import Whole

MAX_ENTRY_LINES = 1_500
"""Longer entries are cut: an entry is a message or a traceback, not a file."""
MAX_ENTRY_TEXT = 256 * 1024
"""The same in characters: many streams may be open at once."""
INTRUDER_LINES = 16
WARNING_LINES = 2
_PREFIX_STARTS = frozenset("[:2EFIW")
_INDENTATION = " `*\t"
MAX_STREAMS = 256
MAX_LINE = 64 * 1024
"""Characters of one line that are read; a longer one loses its middle, which was scanned and is not shown."""


@dataclass(slots=True)
class _Open:
    """An entry that is still growing."""

    prefix: Prefix | None
    key: str
    offset: int
    time: str | None
    repeats: int
    lines: list[tuple[int, str]] = field(default_factory=list)
    in_traceback: bool = False
    finished: bool = False
    """Whether a traceback in it has reached its exception line."""
    size: int = 0
    """Characters so far."""
    flush_left: bool = False
    """Whether the traceback stands at the margin: an indented line cannot be its exception then."""

    def add(self, number: int, text: str) -> None:
        self.lines.append((number, text))
        self.size += len(text)
        if HEADER in text:
            self.in_traceback, self.finished = True, False
            self.flush_left = text.startswith(HEADER) or (self.prefix is not None and len(self.lines) == 1)
        elif match_frame(text):
            self.in_traceback, self.finished = True, False
        elif self.in_traceback and not self.finished and is_exception_line(text):
            self.finished = True

    @property
    def full(self) -> bool:
        return len(self.lines) >= MAX_ENTRY_LINES or self.size >= MAX_ENTRY_TEXT

    @property
    def unfinished_traceback(self) -> bool:
        return self.in_traceback and not self.finished


class Assembler:
    """Collects the entries of one source and yields their events in the order in which they close.

    Feed lines in order, `gap()` where lines were left out, `close()` at the end. Entries of different keys
    (containers, actors, pods) grow side by side; native libraries' lines cut into an entry without ending it.
    """

    def __init__(self, source: int) -> None:
        self._source = source
        self._open: dict[str, _Open] = {}
        self._suspended: dict[str, _Open] = {}

    @property
    def busy(self) -> bool:
        """Whether a traceback is under way: the next lines are needed wherever the spots are."""
        return any(entry.unfinished_traceback for entry in self._open.values()) or bool(self._suspended)

    @property
    def open_keys(self) -> Container[str]:
        """The streams in which an entry is open."""
        return self._open

    @property
    def begun(self) -> list[tuple[int, int]]:
        """(offset, line) where each entry that is still open begins."""
        entries = (*self._open.values(), *self._suspended.values())
        return [(entry.offset, entry.lines[0][0]) for entry in entries if entry.lines]

    def feed(self, line: Line) -> Iterator[Event]:
        text = within(line.text, MAX_LINE)
        prefix = read_prefix(text) or _indented_prefix(text)
        current = self._open.get(line.key)
        if prefix is None:
            yield from self._continue(line, text, current)
            return
        entry = _Open(prefix, line.key, line.offset, prefix.time or line.time, line.repeats)
        entry.add(line.number, prefix.rest)
        if text[0] in _INDENTATION:
            entry.flush_left = False
        if current is not None:
            if current.unfinished_traceback and HEADER not in prefix.rest:
                # Another writer cut in: the traceback may go on behind this line.
                self._suspended.setdefault(line.key, current)
                if self._suspended[line.key] is not current:
                    yield from self._close(current)
            else:
                yield from self._close(current)
        self._open[line.key] = entry
        yield from self._close_oldest()

    def _continue(self, line: Line, text: str, current: _Open | None) -> Iterator[Event]:
        suspended = self._suspended.get(line.key)
        if suspended is not None and HEADER not in text and _continues_traceback(text):
            if current is not None and current.in_traceback:
                current.add(line.number, text)
                if current.full:
                    yield from self._close(self._open.pop(line.key))
                return
            suspended.add(line.number, text)
            if suspended.full:
                yield from self._close(self._suspended.pop(line.key))
            elif suspended.finished:
                del self._suspended[line.key]
                if current is not None:
                    yield from self._close(current)
                self._open[line.key] = suspended
            return
        if current is None:
            current = _Open(None, line.key, line.offset, line.time, line.repeats)
            self._open[line.key] = current
            yield from self._close_oldest()
        elif current.prefix is not None and current.prefix.intruder and _is_over(current, text):
            # A native library's message is short: what follows is somebody else's bare output.
            yield from self._close(current)
            current = self._open[line.key] = _Open(None, line.key, line.offset, line.time, line.repeats)
        current.add(line.number, text)
        if current.full:
            yield from self._close(self._open.pop(line.key))

    def _close_oldest(self) -> Iterator[Event]:
        """What begins or waits in more streams than can be kept ends, the oldest first."""
        for entries in (self._open, self._suspended):
            while len(entries) > MAX_STREAMS:
                yield from self._close(entries.pop(next(iter(entries))))

    def inside(self, number: int, text: str) -> bool:
        """Takes an indented line of the bare stream if it can only belong to the traceback that is open."""
        current = self._open.get("")
        if current is None or not (current.in_traceback and current.flush_left) or current.finished:
            return False
        if self._suspended or current.full or len(text) > MAX_LINE:
            return False
        current.lines.append((number, text))
        current.size += len(text)
        return True

    def inside_all(self, number: int, texts: Sequence[str], size: int) -> bool:
        """`inside` for several lines at once, of `size` characters together; all of them or none."""
        current = self._open.get("")
        if current is None or not (current.in_traceback and current.flush_left) or current.finished:
            return False
        if (
            self._suspended
            or len(current.lines) + len(texts) >= MAX_ENTRY_LINES
            or current.size + size >= MAX_ENTRY_TEXT
        ):
            return False
        current.lines.extend(enumerate(texts, number))
        current.size += size
        return True

    @property
    def calm(self) -> bool:
        """Whether no traceback waits for its rest behind the lines of another writer."""
        return not self._suspended

    def whole(self, number: int, whole: Whole, prefix: Prefix) -> Iterator[Event]:
        """Takes an entry of the bare stream that ends with its last line; to be asked only where all is `calm`."""
        current = self._open.pop("", None)
        if current is not None:
            yield from self._close(current)
        event = usual_event(self._source, prefix, number, whole)
        if event is not None:
            yield event
            return
        lines = enumerate((prefix.rest, *whole.texts[1:]), number)
        yield from split(Entry(self._source, prefix, "", prefix.time, 0, tuple(lines)))

    def interrupt(self, key: str) -> Iterator[Event]:
        """A message of this stream came and is not handed in: what is open ends, a traceback may go on."""
        current = self._open.pop(key, None)
        if current is None:
            return
        if current.unfinished_traceback and key not in self._suspended:
            self._suspended[key] = current
            yield from self._close_oldest()
        else:
            yield from self._close(current)

    def gap(self) -> Iterator[Event]:
        """Lines were left out here: nothing that is open goes on behind them."""
        yield from self.close()

    def close(self) -> Iterator[Event]:
        for entries in (self._suspended, self._open):
            for entry in list(entries.values()):
                yield from self._close(entry)
            entries.clear()

    def _close(self, entry: _Open) -> Iterator[Event]:
        yield from split(Entry(self._source, entry.prefix, entry.key, entry.time, entry.repeats, tuple(entry.lines)))


def _is_over(entry: _Open, text: str) -> bool:
    """Whether a native library's message ended before `text`: another traceback starts, or it grew too long."""
    return not entry.in_traceback and (HEADER in text or len(entry.lines) >= _reach(entry.prefix))


def _reach(prefix: Prefix | None) -> int:
    """How many lines a native library's message may have; a Python warning shows one line of source."""
    if prefix is None:
        return MAX_ENTRY_LINES
    return WARNING_LINES if prefix.level == "WARNING" and (prefix.file or "").endswith(".py") else INTRUDER_LINES


def _indented_prefix(text: str) -> Prefix | None:
    """A prefix behind the blanks or the quote mark of a paste."""
    if text[:1] in _INDENTATION and (stripped := text.lstrip(_INDENTATION))[:1] in _PREFIX_STARTS:
        prefix = read_prefix(stripped)
        return prefix if prefix and (prefix.time or prefix.intruder) else None
    return None


def _continues_traceback(text: str) -> bool:
    return bool(match_frame(text)) or text.startswith("    ") or is_exception_line(text)
