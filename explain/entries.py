"""One entry of a log (what one program wrote at once) -> its events. Pure."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import lru_cache
from itertools import starmap

from explain.bounds import within
from explain.expressions import expression
from explain.model import Event, Frame, Traceback
from explain.prefixes import Prefix
from explain.tracebacks import (
    FRAME_MARK,
    HEADER,
    chain_of,
    is_exception_line,
    match_frame,
    parse,
    read_exception,
    split_inline,
    usual_frames,
)
from explain.values import dataclass
from explain.wholes import Whole

_DATA = expression(
    r"server_args=|(?:Receive|Finish|Receive OpenAI): obj=|\{\"timestamp\": ?\"[^\"]*\", ?\"event\": ?\"request\.|"
    r"launch_command=|(?:Prefill|Decode) batch|INFO: +[\d.:]+ - \"|self\.cur_batch\.batch_size|"
    r"[\d.]+:\d+ - \"(?:GET|POST|PUT|HEAD|OPTIONS|DELETE|PATCH|PRI) "
)
"""Lines that hold data of users or of the configuration: never an event, whatever words are in them."""
_ABORT_IN_DATA = expression(
    r"'finish_reason': \{'type': 'abort', 'message': (?P<quote>['\"])(?P<message>.*?)(?P=quote), "
)
_ESCAPED_FRAME = expression(r'\\n\s*File \\?"')
_ESCAPED_LINE = expression(r"\\n")
_HEADING = expression(
    r"\s*(?:Process \S+:|Exception in thread .*:|Exception ignored in.*|Task exception was never retrieved|"
    r"future: <Task|--- Logging error ---|\[rank\d+\]: *$|Call stack:)"
)
_TASK = expression(r"future: <.*\bexception=(?P<name>[A-Za-z_][\w.]*)\((?P<message>.*)\)>?\s*$")
_LOGGING_MESSAGE = expression(r"Message: (?P<quote>['\"])(?P<message>.*)(?P=quote)\s*$")
_FATAL = expression(r"Fatal Python error: (?P<what>[^\n]+)")
_FAULT_FRAME = expression(r'\s*File \\?"(?P<file>[^"\n\\]+)\\?", line (?P<line>\d{1,7}) in (?P<function>[^\n]+)$')
_THREAD = expression(r"\s*(?P<current>Current t|T)hread (?:0x)?[0-9a-fA-F]+.*\(most recent call first\)")
_CRASHED_THREAD = expression(r"\s*Current thread (?:0x)?[0-9a-fA-F]+ .*\(most recent call first\)")
"""Where the dump of a crash begins whose first lines were cut off."""
_TERMINATE = expression(r"terminate called (?:after throwing an instance of|without an active exception|recursively)")
_WHAT = expression(r"\s*what\(\): ")
_CPP_FRAME = expression(r"\s*(?:frame \[?#\d+|Exception raised from )")
_PANIC = expression(r"thread '[^']*'(?: \(\d+\))? panicked at ")
_CONTEXT_LINES = 12
_MAX_TEXT = 64 * 1024
_LONGEST_HEADING = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """`lines` are (physical line number, text); the first text is what stood behind the prefix."""

    source: int
    prefix: Prefix | None
    key: str
    time: str | None
    repeats: int
    lines: tuple[tuple[int, str], ...]


def split(entry: Entry) -> Iterator[Event]:
    """The events of one entry in the order in which they stand.

    A message is yielded with its continuation lines; each of these is also yielded alone (`inside`), since
    bare output of another program may follow a message without a prefix of its own.
    """
    yield from _Reader(entry).events()


def usual_event(source: int, prefix: Prefix, number: int, whole: Whole) -> Event | None:
    """What `split` yields for a traceback that was taken whole, at once; None where it has to be read for that."""
    body = "\n".join((*whole.texts[1 : whole.place], ""))
    if "&" in body or "\\n" in body or HEADER in body:
        return None  # something may have to be put back
    frames = usual_frames(body)
    exception = read_exception(whole.exception)
    if exception is None or 2 * len(frames) != whole.place - 1 or body.count(FRAME_MARK) != len(frames):
        return None
    name, message = exception[0], exception[1].rstrip()
    line = number + whole.place
    return Event(
        kind="traceback",
        source=source,
        line=line,
        end_line=line,
        time=prefix.time,
        rank=prefix.rank,
        exception=name,
        message=within(message, _MAX_TEXT),
        text=within(f"{name}: {message}" if message else name, _MAX_TEXT),
        heading=_heading(prefix.rest),
        traceback=Traceback(tuple(starmap(Frame, frames)), name, message),
        level=prefix.level,
    )


def _heading(text: str) -> str:
    """What stands before a header on its line."""
    return text.partition(HEADER)[0].strip(" `|+>:╭─")[:_LONGEST_HEADING]


class _Reader:
    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.prefix = entry.prefix  # None behind the first event: what follows is bare output of somebody else
        self.numbers, self.texts = _readable(entry.lines)

    def events(self) -> Iterator[Event]:
        index = 0
        pending: list[int] = []  # lines of the message that is being collected
        stamped = self.prefix is not None
        while index < len(self.texts):
            text = self.texts[index]
            if HEADER in text:
                heading = _heading(text)
                if pending:
                    heading = heading or self.texts[pending[0 if stamped else -1]].strip()
                    yield from self._flush(pending, stamped)
                index = yield from self._traceback(index, heading)
                pending, stamped = [], False
                self.prefix = None
                continue
            if match_frame(text) and not _FAULT_FRAME.match(text):
                yield from self._flush(pending, stamped)
                pending, stamped = [], False
                index = yield from self._traceback(index, "")
                continue
            if native := self._native_end(index):
                yield from self._flush(pending, stamped)
                pending, stamped = [], False
                yield self._native(index, native)
                index = native
                continue
            if index and (found := _TASK.search(text)):
                yield self._repr_exception(index, found["name"], found["message"])
                index += 1
                continue
            if (index or not stamped) and is_exception_line(text):
                yield from self._flush(pending, stamped)
                pending, stamped = [], False
                index = yield from self._traceback(index, "")
                continue
            if index and (found := _LOGGING_MESSAGE.match(text)):
                yield self._message(index, index + 1, found["message"], inside=False)
                index += 1
                continue
            if text.strip():
                pending.append(index)
            elif not stamped:
                yield from self._flush(pending, stamped)
                pending = []
            index += 1
        yield from self._flush(pending, stamped)

    # ------------------------------------------------------------------ messages

    def _flush(self, pending: Sequence[int], stamped: bool) -> Iterator[Event]:
        """The messages of the pending lines: one for a stamped entry, one a line for bare output."""
        if not pending:
            return
        first, last = pending[0], pending[-1] + 1
        if stamped:
            if exception := read_exception(self.texts[first]):
                yield from self._stamped_exception(first, last, exception)
                return
            message = "\n".join(self.texts[first:last]).strip()
            if not _DATA.match(message):
                yield self._message(first, last, message, inside=False)
            elif found := _ABORT_IN_DATA.search(message):
                yield self._message(first, first + 1, found["message"], inside=False)
            first += 1
            self.prefix = None
        for index in range(first, last):
            text = self.texts[index].strip()
            if text and not _DATA.match(text):
                yield self._message(index, min(index + _CONTEXT_LINES, last), text, inside=stamped)

    def _stamped_exception(self, first: int, last: int, exception: tuple[str, str]) -> Iterator[Event]:
        """`[stamp] RuntimeError: …` without frames: an exception all the same."""
        found, end = parse(self.texts[:last], first)
        if found is None:
            yield self._message(first, last, "\n".join(self.texts[first:last]), inside=False)
            return
        yield from self._chain(found, first, max(end, first + 1), "", "head")

    def _message(self, first: int, last: int, message: str, *, inside: bool) -> Event:
        text = within("\n".join(self.texts[first:last]), _MAX_TEXT)
        prefix = None if inside else self.prefix
        return Event(
            kind="message",
            source=self.entry.source,
            line=self.numbers[first],
            end_line=self.numbers[last - 1] if not inside else self.numbers[first],
            time=self.entry.time,
            rank=prefix.rank if prefix else None,
            exception=None,
            message=within(message, _MAX_TEXT),
            text=text,
            level=prefix.level if prefix else None,
            key=self.entry.key,
            repeats=self.entry.repeats,
            inside=inside,
        )

    def _repr_exception(self, index: int, name: str, message: str) -> Event:
        """An exception that asyncio prints as a repr: `exception=ValueError("…")`."""
        inner = message.strip()
        if len(inner) > 1 and inner[0] == inner[-1] and inner[0] in "'\"":
            inner = inner[1:-1]
        traceback = Traceback((), name, inner)
        return self._exception_event(traceback, index, index + 1, "Task exception was never retrieved", "head", 0, None)

    # ------------------------------------------------------------------ tracebacks

    def _traceback(self, index: int, heading: str) -> Generator[Event, None, int]:
        found, length = _parsed(tuple(self.texts[index:]))
        end = index + max(length, 1)
        if found is None:
            yield from self._flush([index], stamped=False)
            return end
        yield from self._chain(found, index, end, heading, "" if HEADER in self.texts[index] else "head")
        return end

    def _chain(self, outermost: Traceback, first: int, end: int, heading: str, cut: str) -> Iterator[Event]:
        chain = chain_of(outermost)
        of = self.numbers[first] if len(chain) > 1 else None
        for number, traceback in enumerate(chain):
            tail = traceback.exception is None
            how = {(False, False): "", (True, False): "head", (False, True): "tail", (True, True): "both"}[
                (cut == "head" and number == 0, tail)
            ]
            yield self._exception_event(traceback, first, end, heading, how, number, of)

    def _exception_event(
        self, traceback: Traceback, first: int, end: int, heading: str, cut: str, chain: int, of: int | None
    ) -> Event:
        name = traceback.exception
        text = f"{name}: {traceback.message}" if name and traceback.message else (name or "")
        prefix = self.prefix
        line, last = self._exception_lines(traceback, first, end)
        return Event(
            kind="traceback",
            source=self.entry.source,
            line=line,
            end_line=last,
            time=self.entry.time,
            rank=prefix.rank if prefix else None,
            exception=name,
            message=within(traceback.message, _MAX_TEXT),
            text=within(text, _MAX_TEXT),
            heading=heading[:_LONGEST_HEADING],
            traceback=traceback,
            level=prefix.level if prefix else None,
            key=self.entry.key,
            repeats=self.entry.repeats,
            chain=chain,
            chain_of=of,
            cut=cut,  # type: ignore[arg-type]
        )

    def _exception_lines(self, traceback: Traceback, first: int, end: int) -> tuple[int, int]:
        """(line of the exception line, last line of its message), as physical lines."""
        if traceback.exception:
            wanted = f"{traceback.exception}"
            for index in range(end - 1, first - 1, -1):
                text = self.texts[index]
                found = read_exception(text, sure=False) if wanted in text else None
                if found and found[0] == wanted and traceback.message.startswith(found[1].strip()[:80]):
                    extra = traceback.message.count("\n")
                    return self.numbers[index], self.numbers[min(index + extra, end - 1)]
        return self.numbers[first], self.numbers[end - 1]

    # ------------------------------------------------------------------ native crashes

    def _native_end(self, index: int) -> int:
        """The index behind a native crash that starts at `index`, 0 where none does."""
        text = self.texts[index]
        if _FATAL.search(text) or _CRASHED_THREAD.match(text):
            return self._faulthandler_end(index)
        if _TERMINATE.search(text):
            return self._run(index, lambda line: bool(_WHAT.match(line) or _CPP_FRAME.match(line)), 80)
        if _PANIC.search(text):
            return min(index + 2, len(self.texts))
        return 0

    def _run(self, index: int, belongs: Callable[[str], bool], most: int) -> int:
        end = index + 1
        while end < len(self.texts) and end - index < most:
            line = self.texts[end]
            if not line.strip() and end + 1 < len(self.texts) and belongs(self.texts[end + 1]):
                end += 1
                continue
            if not (belongs(line) or (line.strip() and _WHAT.match(self.texts[end - 1]))):
                break
            end += 1
        return end

    def _faulthandler_end(self, index: int) -> int:
        end = index + 1
        last = end
        while end < len(self.texts):
            line = self.texts[end]
            if (
                _THREAD.match(line) or _FAULT_FRAME.match(line) or line.strip().startswith(("<no Python frame", "..."))
            ) or line.startswith(("Extension modules:", "Current thread's C stack")):
                last = end + 1
            elif line.strip():
                break
            end += 1
        return last

    def _native(self, first: int, end: int) -> Event:
        lines = self.texts[first:end]
        message = lines[0].strip()
        found = _FATAL.search(message)
        traceback = None
        if found:
            message = f"Fatal Python error: {found['what'].strip()}"
            traceback = Traceback(_fault_frames(lines), None, "")
        elif _CRASHED_THREAD.match(lines[0]):
            traceback = Traceback(_fault_frames(lines), None, "")
        else:
            for line in lines[1:]:
                if _WHAT.match(line):
                    message = f"{message}\n{line.strip()}"
                    break
            if _PANIC.search(message) and len(lines) > 1:
                message = f"{message}\n{lines[1].strip()}"
        prefix = self.prefix
        return Event(
            kind="native",
            source=self.entry.source,
            line=self.numbers[first],
            end_line=self.numbers[end - 1],
            time=self.entry.time,
            rank=prefix.rank if prefix else None,
            exception=None,
            message=message,
            text=within("\n".join(lines), _MAX_TEXT),
            traceback=traceback,
            key=self.entry.key,
            repeats=self.entry.repeats,
        )


@lru_cache(maxsize=64)
def _parsed(lines: tuple[str, ...]) -> tuple[Traceback | None, int]:
    """`parse` from the start of `lines`; the same traceback of many ranks is read once."""
    return parse(lines)


def _fault_frames(lines: Sequence[str]) -> tuple[Frame, ...]:
    """The crashing thread's frames, the deepest last; of the last thread where none is marked."""
    threads: list[tuple[bool, list[Frame]]] = []
    for line in lines:
        if found := _THREAD.match(line):
            threads.append((found["current"].startswith("Current"), []))
        elif found := _FAULT_FRAME.match(line):
            if not threads:
                threads.append((False, []))
            threads[-1][1].append(Frame(found["file"], int(found["line"]), found["function"].strip()))
    chosen = next((frames for current, frames in threads if current), threads[-1][1] if threads else [])
    return tuple(reversed(chosen))


def _readable(lines: Sequence[tuple[int, str]]) -> tuple[list[int], list[str]]:
    """Line numbers and texts, with line ends that were escaped or lost put back."""
    marked = [text for _, text in lines if FRAME_MARK in text]
    whole = "\n".join(text for _, text in lines)
    glued = any(text.count(FRAME_MARK) > 1 or HEADER in text for text in marked)
    if not (glued or "\\n" in whole or "&" in whole or "\r" in whole):
        return [number for number, _ in lines], [text for _, text in lines]
    numbers: list[int] = []
    texts: list[str] = []
    for number, text in lines:
        if "&quot;" in text or "&#x27;" in text or "&lt;" in text or "&#39;" in text:
            from html import unescape

            text = unescape(text)
        if "\\n" in text and ("Traceback" in text or _ESCAPED_FRAME.search(text)):
            pieces = _ESCAPED_LINE.split(text.replace("\\\\n", "\\n"))
            pieces = [piece.replace('\\"', '"').replace("\\'", "'").replace("\\t", "\t") for piece in pieces]
        else:
            pieces = [text]
        for piece in pieces:
            for part in split_inline(piece):
                numbers.append(number)
                texts.append(part.rstrip("\r\n"))
    return numbers, texts
