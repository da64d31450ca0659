"""The only chain from sources to report: blocks, spots, lines, events, matches, findings."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, Protocol

from explain import __version__
from explain.advice import advice_without_cause
from explain.ahead import scanned_ahead
from explain.carriers import Carriers
from explain.counting import counted
from explain.diagnosis import Diagnosis
from explain.entries import Entry, split
from explain.events import Assembler
from explain.expressions import expression
from explain.incontext import in_context
from explain.lastlines import LastLines
from explain.launch import LaunchReader
from explain.matcher import Matcher
from explain.model import Block, Event, Finding, LaunchContext, Line, Match, Problem, Report, Role, Source, Stats
from explain.plainlines import ends_traceback, is_bare, plain_lines, plain_text
from explain.prefixes import read_prefix
from explain.prepare import join_wrapped, prepare_head
from explain.repeats import Counted, Known, Repeats
from explain.roles import role_of
from explain.sources import InputError
from explain.telling import worth_telling
from explain.values import dataclass, field, replace
from explain.wholes import whole_traceback
from explain.windows import HEAD_BYTES, Here, RawLine, Window

if TYPE_CHECKING:
    from explain.catalogue import Catalogue
    from explain.sites import SiteIndex

OnEvent = Callable[[Event, Match, Role], None]
_INSIDE = ('  File "', "    ")
_INSIDE_RUN = expression(rb'(?:  (?:File "|  )[^\n\r]{0,4000}\n){4,40}')
MOST_COMPARED = 3
SHORTEST_TO_COMPARE = 16
MAX_PARTIAL = 128
"""Lines that wait for their rest at the same time, one a stream."""
_SPACE = ord(" ")
_NOTHING = Known(None, "", spotless=True)


class Readable(Protocol):
    """What the engine needs of an input."""

    @property
    def name(self) -> str: ...

    def blocks(self) -> Iterator[Block]: ...


def explain_sources(
    inputs: Sequence[Readable],
    catalogue: Catalogue,
    sites: SiteIndex | None = None,
    *,
    matcher: Matcher | None = None,
    on_event: OnEvent | None = None,
    problems: Iterable[Problem] = (),
    head: int = HEAD_BYTES,
) -> Report:
    """Reads all inputs once and returns what was found. Inputs that fail are reported, the rest are explained."""
    started = clock.monotonic()
    names = [one.name for one in inputs]
    run = Explainer(matcher or Matcher(catalogue, sites), names, on_event, head=head)
    run.problems.extend(problems)
    sources = [run.read(number, one) for number, one in enumerate(inputs)]
    return run.report(sources, clock.monotonic() - started)


class HeadLine(NamedTuple):
    """A line that waits until the head of its source is read.

    `bare`: no carrier can have left anything in it. `plain`: nothing, unless the next line continues it.
    """

    number: int
    text: str
    bare: bool
    plain: bool


@dataclass(slots=True)
class Stream:
    """What one source needs while it is read. `head` holds its first lines until they are read at once."""

    number: int
    carriers: Carriers
    assembler: Assembler
    window: Window
    partial: dict[str, Line] = field(default_factory=dict)
    head: list[HeadLine] | None = field(default_factory=list)
    repeats: Repeats | None = None
    bare: bool = False
    """Whether the last line came through no carrier."""
    head_offset: int = 0
    starts: int = 0
    """How many starts of servers had begun when it was looked last."""
    last_lines: LastLines = field(default_factory=LastLines)

    @property
    def settled(self) -> tuple[int, int]:
        """(offset, line) where reading may start again: every line before has been told or counted."""
        waiting = [(line.offset, line.number) for line in self.partial.values()]
        if self.head:
            waiting.append((self.head_offset, self.head[0].number))
        if self.repeats is not None and self.repeats.held is not None:
            waiting.append((self.repeats.held.offset, self.repeats.held.number))
        return min((*waiting, *self.assembler.begun), default=(self.window.bytes, self.window.next_line))


class Explainer:
    """Reads blocks of several sources and keeps what was found; one explainer a run.

    `open`, then `feed` block by block, `quiet` when nothing came for a while, `close` at the end; `report` at
    any time. `read` does all of it for an input that has an end.
    """

    def __init__(
        self,
        matcher: Matcher,
        names: list[str],
        on_event: OnEvent | None = None,
        *,
        head: int = HEAD_BYTES,
        rolling: bool = False,
    ) -> None:
        """`names` may grow while sources appear. `rolling` forgets old findings where they become too many."""
        self._matcher = matcher
        self._names = names
        self._on_event = on_event
        self._head = head
        self.launch = LaunchReader()
        self._diagnosis = Diagnosis(names, matcher.match, rolling=rolling, lives=self.launch)
        self.problems: list[Problem] = []
        self._last_lines: dict[int, LastLines] = {}

    def open(self, number: int, *, first_line: int = 1) -> Stream:
        """A source to be fed; `first_line` numbers its first line."""
        self.launch.opened(number)
        assembler = Assembler(number)
        window = Window(
            lambda: assembler.busy,
            lambda here: self._several(stream, here),
            head=self._head,
            first_line=first_line,
        )
        stream = Stream(number, Carriers(), assembler, window)
        self._last_lines[number] = stream.last_lines
        if not self._head:
            stream.head = None
        if self._on_event is None:
            stream.repeats = Repeats(lambda lines: self._count(stream, lines), lambda raw: self._read_line(stream, raw))
        return stream

    def feed(self, stream: Stream, block: Block, ends: Sequence[int]) -> None:
        """Reads one block; `ends` are the rising end offsets of its spots."""
        stream.last_lines.take(block.data, stream.window.next_line)
        for raw in stream.window.lines_of(block, ends):
            self._line(stream, raw)
        if stream.head is not None and stream.window.bytes >= self._head:
            self._release_head(stream)

    def quiet(self, stream: Stream) -> None:
        """Nothing continues what is open: it is told now."""
        self._release_head(stream)
        if stream.repeats is not None:
            stream.repeats.end()
        self._take(stream.assembler.close())

    def close(self, stream: Stream, name: str) -> Source:
        self._release_head(stream)
        for line in list(stream.partial.values()):
            self._feed(stream, line)
        self.quiet(stream)
        unready = any(start.ready is None for start in self.launch.starts[-1:] if start.stream[0] == stream.number)
        stream.last_lines.close(keep=unready or stream.last_lines.troubled())
        return Source(name, stream.window.lines, stream.window.bytes)

    def read(self, number: int, source: Readable) -> Source:
        """Reads one source to its end; where reading fails, what was read counts and a problem says the rest."""
        stream = self.open(number)
        try:
            for block, ends in scanned_ahead(source.blocks(), self._matcher.scanner.ends):
                self.feed(stream, block, ends)
        except InputError as error:
            self.problems.append(error.problem)
        return self.close(stream, source.name)

    # ------------------------------------------------------------------ lines

    def _several(self, stream: Stream, here: Here) -> tuple[int, int] | None:
        """Takes the lines inside a traceback, or such that tell nothing new, at once; see `windows.Run`."""
        repeats = stream.repeats
        if stream.head is not None or stream.partial:
            return None
        if here.data[here.position] != _SPACE:
            if traceback := self._whole(stream, here):
                return traceback
            if repeats is None:
                return None
            taken = repeats.run(here) or self._several_plain(repeats, here)
            if taken is not None:
                self._end_before_held(stream, repeats)
            return taken
        if not stream.bare or (repeats is not None and repeats.held is not None):
            return None
        found = _INSIDE_RUN.match(here.data, here.position)
        if found is None:
            return None
        whole = here.data[here.position : found.end() - 1].decode("utf-8", "replace")
        texts = whole.split("\n")
        if len(texts) > here.most:
            return None
        inside = stream.assembler.inside_all(here.number, texts, len(whole))
        return (found.end(), len(texts)) if inside else None

    def _whole(self, stream: Stream, here: Here) -> tuple[int, int] | None:
        """Takes a traceback from its header to its end."""
        found = whole_traceback(here.data, here.position)
        if found is None or not stream.assembler.calm:
            return None
        prefix = read_prefix(found.texts[0])
        if prefix is None or prefix.intruder or self.launch.wants(found.texts[0]) or self.launch.wants(found.exception):
            return None
        if stream.repeats is not None:
            stream.repeats.end()
        stream.bare = True
        self._take(stream.assembler.whole(here.number, found, prefix))
        return found.end, len(found.texts)

    def _several_plain(self, repeats: Repeats, here: Here) -> tuple[int, int] | None:
        """Takes a server's own lines before the next spot that are surely nothing."""
        before_spot = here.data.rfind(b"\n", here.position, here.spot) + 1
        found = plain_lines(here.data, here.position, before_spot)
        if found is None or self.launch.wants(found.text):
            return None
        several = found.text.count("\n")
        if several > here.most:
            return None
        last = here.data[found.last : found.end - 1]
        repeats.learn_again(here.data[here.position : found.end - 1], _NOTHING)
        repeats.hold(_NOTHING, RawLine(here.number + several - 1, last, False, here.offset + found.last, False))
        return found.end, several

    def _line(self, stream: Stream, raw: RawLine) -> None:
        repeats = stream.repeats
        if raw.gap or (stream.head is not None and raw.offset >= self._head):
            self._release_head(stream)
        if raw.gap:
            if repeats is not None:
                repeats.end()
            self._take(stream.assembler.gap())
        if repeats is not None and stream.head is None and not stream.partial:
            if repeats.take(raw):
                self._end_before_held(stream, repeats)
                return
            shape = repeats.worth_deciding(raw)
            if not raw.spot and (known := self._plain(raw)):
                if shape is not None:
                    repeats.learn(shape, known)
                repeats.hold(known, raw)
                self._end_before_held(stream, repeats)
                return
            if shape is not None and (known := self._decide(stream, raw)):
                repeats.learn(shape, known)
        self._read_line(stream, raw)

    def _end_before_held(self, stream: Stream, repeats: Repeats) -> None:
        """Whatever a line that waits turns out to be, what is open in its stream ends with it, and is told now."""
        if repeats.held_key in stream.assembler.open_keys:
            self._take(stream.assembler.interrupt(repeats.held_key))

    def _read_line(self, stream: Stream, raw: RawLine) -> None:
        if stream.head is not None:
            bare = is_bare(raw.data)
            plain = bare and not raw.spot and plain_text(raw.data) is not None
            stream.head.append(HeadLine(raw.number, raw.text, bare, plain))
            stream.head_offset = raw.offset if len(stream.head) == 1 else stream.head_offset
            return
        text = raw.text
        if not stream.partial and (is_bare(raw.data) or (stream.bare and ends_traceback(raw.data))):
            # Most lines that are read: nothing has to be taken off.
            stream.bare = True
            self._feed(stream, Line(raw.number, text, offset=raw.offset))
            return
        if stream.bare and text.startswith(_INSIDE) and stream.assembler.inside(raw.number, text):
            return
        for line in self._stripped(stream, raw.number, text, raw.offset):
            stream.bare = line.text == text and not line.key
            self._feed(stream, line)

    def _stripped(self, stream: Stream, number: int, text: str, offset: int) -> Iterator[Line]:
        """The lines that a physical line holds, carriers gone, parts of one line joined."""
        for stripped in stream.carriers.strip(text):
            line = Line(number, stripped.text, stripped.key, stripped.time, stripped.repeats, offset)
            begun = stream.partial.pop(line.key, None)
            if begun is not None:
                line = Line(begun.number, begun.text + line.text, line.key, begun.time, line.repeats, begun.offset)
            if stripped.partial and len(line.text) < HEAD_BYTES and len(stream.partial) < MAX_PARTIAL:
                stream.partial[line.key] = line
            else:
                yield line

    def _decide(self, stream: Stream, raw: RawLine) -> Known | None:
        """What lines of this shape are wherever they stand alone, None where their digits may matter."""
        pieces = stream.carriers.strip(raw.text)
        if len(pieces) != 1 or pieces[0].partial or pieces[0].repeats or any(map(str.isdigit, pieces[0].key)):
            return None
        text = pieces[0].text
        prefix = read_prefix(text)
        serves = self.launch.serves(text)
        if prefix is None or "\n" in text or (not serves and self.launch.wants(text)):
            return None
        entry = Entry(stream.number, prefix, pieces[0].key, None, 0, ((raw.number, prefix.rest),))
        events = list(split(entry))
        if any(self._matcher.digits_matter(event) for event in events):
            return None
        matches = [match for event in events if worth_telling(match := self._matcher.match(event))]
        if not matches:
            return Known(None, pieces[0].key, serves)
        finding = self._diagnosis.repeatable(matches[0]) if len(matches) == 1 else None
        return Known(finding, pieces[0].key) if finding is not None else None

    def _plain(self, raw: RawLine) -> Known | None:
        """`_NOTHING` for a server's own line in which none of our literals stands; None where it has to be read."""
        text = plain_text(raw.data)
        return None if text is None or self.launch.wants(text) else _NOTHING

    def _count(self, stream: Stream, lines: Sequence[Counted]) -> None:
        """Counts lines whose meaning is known, in their order."""
        if len(lines) == 1 and lines[0][0] is _NOTHING:
            if "" in stream.assembler.open_keys:
                self._take(stream.assembler.interrupt(""))
            return
        told: dict[tuple[object, str], list[Counted]] = {}
        before: Known | None = None
        alike: list[Counted] | None = None
        for line in lines:
            known = line[0]
            if known is not before:
                if before is None or known.key != before.key:
                    self._take(stream.assembler.interrupt(known.key))
                before = known
                tells = known.serves or known.finding is not None
                alike = told.setdefault((known.finding, known.key), []) if tells else None
            if alike is not None:
                alike.append(line)
                if known.serves:
                    self._served(stream, known.key, line[1], line[2])
        for (finding, key), found in sorted(told.items(), key=lambda item: item[1][-1][1]):
            again = counted(found, stream.number, key)
            self.launch.named(stream.number, key, again.ranks)
            if finding is not None:
                self._diagnosis.count_again(finding, again)

    def _served(self, stream: Stream, key: str, number: int, data: bytes) -> None:
        """Hands on a line that shows that requests are being served, without what a carrier put around it."""
        if data[:3] == b"[20":
            self.launch.served(stream.number, key, number, data)
            return
        for stripped in stream.carriers.strip(data.decode("utf-8", "replace")):
            self.launch.served(stream.number, key, number, stripped.text, stripped.time)

    def _release_head(self, stream: Stream) -> None:
        """The head of a source is read at once: only then can wraps and a reversed order be seen."""
        if stream.head is None:
            return
        head, stream.head = stream.head, None
        carriers = Carriers()
        for one in head:
            if not one.bare:
                carriers.strip(one.text)  # some are believed only once a line proved them
        whole = join_wrapped(
            [(one.number, one.text) for one in head],
            lambda text: [one.text for one in carriers.strip(text)] != [text],
        )
        bare = {one.number: one for one in head if one.bare}
        lines: list[Line] = []
        for number, text in whole:
            if number in bare and bare[number].text is text and not stream.partial:
                lines.append(Line(number, text, offset=stream.head_offset))
            else:
                lines += self._stripped(stream, number, text, stream.head_offset)
        prepared = prepare_head(lines)
        for line, following in zip_longest(prepared, prepared[1:]):
            here = bare.get(line.number)
            if following is not None and here is not None and here.plain and here.text is line.text:
                after = bare.get(following.number)
                if after is not None and after.text is following.text:
                    self._pass(stream, line)
                    continue
            self._feed(stream, line)

    def _pass(self, stream: Stream, line: Line) -> None:
        """Takes a server's own line that is surely nothing but what it tells of the launch."""
        if "" in stream.assembler.open_keys:
            self._take(stream.assembler.interrupt(""))
        self._tell_launch(stream, line)

    def _feed(self, stream: Stream, line: Line) -> None:
        for text in line.text.split("\n") if "\n" in line.text else (line.text,):
            one = line if text is line.text else Line(line.number, text, line.key, line.time, line.repeats, line.offset)
            self._take(stream.assembler.feed(one))
            # Behind the events that this line closed: it may be what came after them.
            self._tell_launch(stream, one)

    def _tell_launch(self, stream: Stream, line: Line) -> None:
        if not self.launch.wants(line.text):
            return
        self.launch.read(line, self._names[stream.number], stream.number)
        if stream.repeats is not None and stream.starts != self.launch.begun:
            # What a server says is read anew for each of its starts.
            stream.repeats.forget()
            stream.starts = self.launch.begun

    def _take(self, events: Iterator[Event]) -> None:
        for event in events:
            match = self._matcher.match(event)
            self.launch.dumped(event)
            if not worth_telling(match):
                continue
            self.launch.happened(event, role_of(match)[0], self._names[event.source])
            role = self._diagnosis.add(match)
            if self._on_event is not None:
                self._on_event(event, match, role)

    def _with_nearest(self, findings: tuple[Finding, ...], unexplained: Sequence[int]) -> tuple[Finding, ...]:
        """The first few errors that nothing explains, with the known messages they are most like."""
        asked = [index for index in unexplained if len(findings[index].message) >= SHORTEST_TO_COMPARE]
        if not asked:
            return findings
        from explain.nearest import nearest_words

        told = list(findings)
        for index in asked[:MOST_COMPARED]:
            one = findings[index]
            near = nearest_words(self._matcher.sites, self._matcher.catalogue, one.exception, one.message)
            told[index] = replace(one, near=near)
        return tuple(told)

    def _with_stall(self, context: LaunchContext, findings: Sequence[Finding]) -> LaunchContext:
        """The context with what stopped going on, where no failure explains that."""
        lead = self._diagnosis.seen(0) if findings and findings[0].role == "cause" else None
        tails = {
            number: tail
            for number, tail in self._last_lines.items()
            if lead is None or not lead.ends or lead.source != number or lead.line < (tail.batch_line() or (0,))[0]
        }
        starting = (lead is None or not lead.ends) and self._starting
        if not starting and not any(tail.troubled() for tail in tails.values()):
            return context
        # Imported where something looks like it: an ordinary log ends with its last batch.
        from explain.silence import stall_of

        return replace(context, stalled=stall_of(tails, self.launch, self._names, context.sglang_version))

    @property
    def _starting(self) -> bool:
        return any(start.ready is None and not start.ended for start in self.launch.starts[-1:])

    @property
    def may_stand_still(self) -> bool:
        """Whether a look at what stopped going on is worth it: a cheap sign, wrong more often than not."""
        return self._starting or any(tail.troubled() for tail in self._last_lines.values())

    @property
    def events(self) -> int:
        """How many events were found so far: a cheap sign of news."""
        return self._diagnosis.events

    def findings(self) -> tuple[Finding, ...]:
        """What is known by now, cause first."""
        return self._diagnosis.findings()

    def order_rule(self, index: int) -> str:
        """The rule that put a finding before the next one; empty for the last one."""
        return self._diagnosis.order_rule(index)

    def report(self, sources: list[Source], seconds: float) -> Report:
        findings = self._diagnosis.findings()
        context, findings = in_context(findings, self._diagnosis.seen, self.launch, self._names)
        context = self._with_stall(context, findings)
        unexplained = tuple(
            index for index, finding in enumerate(findings) if finding.record is None and finding.site is None
        )
        findings = self._with_nearest(findings, unexplained)
        stats = Stats(
            lines=sum(source.lines for source in sources),
            bytes=sum(source.bytes for source in sources),
            events=self._diagnosis.events,
            seconds=seconds,
        )
        return Report(
            version=__version__,
            sources=tuple(sources),
            context=context,
            findings=findings,
            unexplained=unexplained,
            stats=stats,
            advice=advice_without_cause(findings, context),
            folded=self._diagnosis.folded,
            problems=(*self.problems, *self._matcher.catalogue.slow()),
        )
