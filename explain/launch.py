"""How servers were started and how they went on: collected line by line, from where it stands.

One log may hold several starts of a server (a container that restarts), and several servers side by side
(prefill and decode). A `Start` is one of them; `lifetimes` makes sense of them when everything was read.
Nothing here looks at lines that the reader would not read anyway.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from explain.clocks import offsets_of
from explain.endings import ends_server, is_cut, refuses_arguments
from explain.model import Event, Line, MemoryStep, Place, Pool, Role
from explain.prefixes import read_prefix
from explain.serverargs import find_server_args
from explain.stacks import DUMP, MAX_STACKS, read_stack
from explain.starts import BatchLine, Early, Sign, Start, Stream, stamped
from explain.startup import (
    BACKEND_MARKS,
    READY,
    attention_backend,
    gpu_name,
    kv_pool,
    launch_command,
    limits,
    memory_step,
    of_shell_job,
    quantization,
    shows_serving,
)

__all__ = ["READY", "LaunchReader", "Start", "find_server_args"]

MAX_STARTS = 400
MAX_STREAMS = 1024
"""Streams whose servers are told apart."""
MAX_STEPS = 4096
MAX_SIGNS = 2048
MAX_SNAPSHOTS = 256
MAX_MESSAGES = 80
MAX_FRAMES = 120
_RECENT = 16
"""Batch lines of a stream that are kept, for those before a failure."""
_COMMAND_LINES = 80
MAX_COMMANDS = 64
_IDENTITY = ("node_rank", "port", "disaggregation_mode", "base_gpu_id", "dp_rank")
"""Arguments in which servers that run side by side differ."""
_BEGINNINGS = ("distributed", "weights_begin")
"""Steps that no server takes again once it is ready."""
_NO_DIGITS = str.maketrans("", "", "0123456789")
_REQUEST_LOG = ("Receive: ", "Finish: ", "Receive OpenAI: ", '{"timestamp": "')


class LaunchReader:
    """Collects starts, memory steps, batch lines and signs of life of a run. Memory is bounded."""

    def __init__(self) -> None:
        self.starts: list[Start] = []
        self.ready = 0
        """How often a server said that it is ready."""
        self.begun = 0
        """How many starts printed arguments, or were refused them."""
        self.signs: list[Sign] = []
        self.snapshots: dict[tuple[int, int], tuple[BatchLine, ...]] = {}
        """For the place of a failure: the batch lines before it; the first and the last places are kept."""
        self._of_stream: dict[Stream, Start] = {}
        self._of_source: dict[int, Start] = {}
        self._counts: dict[Stream, int] = {}
        self._batches: dict[int, deque[BatchLine]] = {}
        self._unserved: set[Stream] = set()
        self._command: tuple[Stream, int, str] | None = None
        self._early: dict[int, Early] = {}

    def opened(self, source: int) -> None:
        """A source is read from its first line, maybe anew: a rotated log counts its lines from 1 again."""
        for start in self.starts:
            if start.stream[0] == source:
                start.line, start.ended, start.rotated = min(start.line, 1), min(start.ended, 1), True

    # ------------------------------------------------------------------ lines

    def wants(self, text: str) -> bool:
        """Whether a line tells of the launch, so that it must be read each time."""
        return (
            self.serves(text)
            or (" mem" in text and ("avail mem=" in text or "mem usage=" in text))
            or "server_args=" in text
            or READY in text
            or "max_total_num_tokens=" in text
            or "KV Cache " in text
            or "device_name=" in text
            or "launch_server -" in text
            or "sglang serve" in text
            or ("backend" in text and any(mark in text for mark in BACKEND_MARKS))
            or "Capture cuda graph bs" in text
            or "quantization is not" in text
            or ("Detected " in text and "checkpoint" in text)
            or " NVIDIA " in text
            or " Tesla " in text
            or ": AMD " in text
            or text.startswith("sglang: ")
            or self._command is not None
        )

    def serves(self, text: str) -> bool:
        """Whether a line is one of the many that show that requests are being served."""
        return (" batch" in text or '" 200' in text) and shows_serving(text)

    def read(self, line: Line, name: str, source: int) -> None:
        """Takes a line that `wants` chose; `name` is that of the source."""
        prefix = read_prefix(line.text)
        text = prefix.rest if prefix else line.text
        time = (prefix.time if prefix else None) or line.time
        if text.startswith(_REQUEST_LOG):
            return  # holds what users wrote
        stream = (source, line.key)
        place = Place(name, line.number, time)
        start = self._start(stream)
        if prefix is not None:
            self._name(start, prefix.rank)
        if len(start.messages) < MAX_MESSAGES and (shape := _beginning(text)) not in start.messages:
            start.messages[shape] = line.text[:400]
        if self.serves(line.text):
            self.served(source, line.key, line.number, line.text, line.time)
        elif "server_args=" in text and (fields := find_server_args(text)):
            self._begin(stream, place, fields)
        elif READY in text:
            self.ready += 1
            if start.rotated and self._is_over(start, stream):
                start = self._anew(stream, place, {})
            start.ready = place
        else:
            self._tell(stream, place, (prefix.rank if prefix else None) or "", text)

    def _tell(self, stream: Stream, place: Place, rank: str, text: str) -> None:
        start = self._start(stream)
        if step := memory_step(text):
            if step.step in _BEGINNINGS and self._is_over(start, stream):
                start = self._anew(stream, place, {})
            if len(start.steps) < MAX_STEPS:
                start.steps.append(MemoryStep(step.step, rank, step.available, step.used, place))
            start.model_class = step.model_class or start.model_class
            start.quantization = step.quantization or start.quantization
        elif pool := kv_pool(text):
            if len(start.pools) < MAX_STEPS:
                start.pools.append(Pool(rank, *pool, place))
        elif found := limits(text):
            for limit, value in found.items():
                start.limits[limit] = min(start.limits.get(limit, value), value)
        elif self._command is not None or "launch_server" in text or "sglang serve" in text:
            self._read_command(stream, place, text)
        elif backend := attention_backend(text):
            if start.line or start.progressed:
                start.attention_backend = start.attention_backend or backend
            self._early.setdefault(stream[0], Early()).backend = backend
        elif gpu := gpu_name(text):
            start.gpu = start.gpu or gpu
        elif method := quantization(text):
            start.quantization = start.quantization or method

    def _read_command(self, stream: Stream, place: Place, text: str) -> None:
        """A launch command, which a shell may have spread over lines that end in a backslash."""
        if self._command is not None:
            begun, line, command = self._command
            if begun == stream and place.line == line + 1 and command.count("\n") < _COMMAND_LINES:
                command = f"{command}\n{text.strip()}"
                self._command = (stream, place.line, command) if text.rstrip().endswith("\\") else None
                self._longer_command(stream, command)
                return
            self._command = None
        found = launch_command(text)
        if found is None:
            return
        if found.endswith("\\"):
            self._command = (stream, place.line, found)
        ended = of_shell_job(text)
        if ended and (start := self._start(stream)).line:
            start.command, start.command_place = start.command or found, start.command_place or place
            return
        commands = self._early.setdefault(stream[0], Early()).commands
        if len(commands) < MAX_COMMANDS:
            commands.append((place, found.rstrip("\\ "), ended))

    def _longer_command(self, stream: Stream, command: str) -> None:
        joined = " ".join(part.rstrip("\\ ").strip() for part in command.split("\n"))
        commands = self._early.setdefault(stream[0], Early()).commands
        if commands:
            commands[-1] = (commands[-1][0], joined, commands[-1][2])

    def named(self, source: int, key: str, ranks: Iterable[str]) -> None:
        """Lines of a stream that were counted were told by these ranks."""
        start = self._start((source, key))
        for rank in ranks:
            self._name(start, rank)

    def _name(self, start: Start, rank: str | None) -> None:
        # torch's own label of a process is no rank of SGLang's.
        if rank and not rank.startswith("rank") and len(start.ranks) < MAX_STREAMS:
            start.ranks[rank] = None

    # ------------------------------------------------------------------ starts

    def _start(self, stream: Stream) -> Start:
        """The server that a line of this stream belongs to."""
        start = self._of_stream.get(stream) or self._of_source.get(stream[0])
        if start is None:
            start = self._add(Start(stream, 0, None, 0))
        return start

    def _add(self, start: Start) -> Start:
        if len(self.starts) >= MAX_STARTS:
            del self.starts[1 : MAX_STARTS // 2]  # a crash loop of weeks: the first start and the last ones tell
        self.starts.append(start)
        self._of_source[start.stream[0]] = start
        if start.line:
            self._of_stream[start.stream] = start
            while len(self._of_stream) > MAX_STREAMS:
                oldest = next(iter(self._of_stream))
                del self._of_stream[oldest]
                self._counts.pop(oldest, None)
        return start

    def _begin(self, stream: Stream, place: Place, args: Mapping[str, Any], *, refused: bool = False) -> None:
        before = self._of_stream.get(stream)
        if before is not None and not refused:
            if before.args == args and not before.progressed:
                return  # an embedded engine prints its arguments twice
            beside = before.args and any(args.get(name) != before.args.get(name) for name in _IDENTITY)
            if beside and not before.ended:
                number = self._counts.get(stream, 0)
                self._add(Start(stream, place.line, place, number, args))
                return
        self._anew(stream, place, args, refused=refused)

    def _anew(self, stream: Stream, place: Place, args: Mapping[str, Any], *, refused: bool = False) -> Start:
        before = self._of_stream.get(stream)
        implicit = self._of_source.get(stream[0])
        number = self._counts.get(stream, 0)
        if before is not None or (implicit is not None and (implicit.ended or implicit.ready)):
            number += 1
        self._counts[stream] = number
        self.begun += 1
        start = self._add(Start(stream, place.line, place, number, args, refused))
        early = self._early.pop(stream[0], Early())
        start.command_place, start.command = early.command()
        start.attention_backend = early.backend
        return start

    def _is_over(self, start: Start, stream: Stream) -> bool:
        """Whether a line that a server prints while it starts is of another one, whose arguments the log lacks.

        Its stream had a server that was ready, or that went down before the file was rotated: the ranks of one
        print apart. Of several side by side nothing is concluded.
        """
        if start.stream != stream or not (start.ready or (start.rotated and start.ended)):
            return False
        return not any(
            one.line and one.stream == stream and one.number == start.number and one is not start for one in self.starts
        )

    def number_of_start(self, source: int, key: str, line: int) -> int:
        """How many times the server of a stream had been started anew at a line."""
        stream = self.home(source, key)
        found = 0
        for start in reversed(self.starts):
            if start.stream == stream and start.line <= line:
                found = start.number
                break
        return found

    def later_starts(self, source: int, key: str, number: int) -> int:
        """How many starts came after the start of that number."""
        return self._counts.get(self.home(source, key), 0) - number

    def early(self, start: Start) -> Early:
        """What the log says of a start that printed no arguments, or before it did."""
        shown = start.line or start.number or start.refused
        return Early() if shown else self._early.get(start.stream[0], Early())

    def batch_ranks(self, start: Start) -> set[str]:
        """The ranks of the last batch lines of a start."""
        ends = [one.line for one in self.starts if one.stream[0] == start.stream[0] and one.line > start.line]
        held = self._batches.get(start.stream[0], ())
        found = set()
        for number, line, _ in held:
            if start.line <= number < min(ends, default=number + 1):
                prefix = stamped(line)
                found.add(prefix.rank if prefix else None)
        return {rank for rank in found if rank}

    def home(self, source: int, key: str) -> Stream:
        """The stream that printed the arguments of the server a line belongs to."""
        if (source, key) in self._counts:
            return (source, key)
        start = self._of_source.get(source)
        return start.stream if start is not None else (source, key)

    # ------------------------------------------------------------------ failures and life

    def happened(self, event: Event, role: Role, name: str) -> None:
        """An event was found: it may end a server, and it may be refused arguments."""
        stream = (event.source, event.key)
        refused = refuses_arguments(event)
        if refused and role == "cause" and event.chain == 0 and self.starts:
            before = self._start(stream)
            if before.progressed and not before.refused:
                self._begin(stream, Place(name, event.line, event.time), {}, refused=True)
        start = self._start(stream)
        self._name(start, event.rank)
        for frame in event.frames:
            if len(start.frames) >= MAX_FRAMES:
                break
            start.frames.setdefault((frame.file, frame.line), frame)
        if event.kind == "message" and len(start.messages) < MAX_MESSAGES:
            start.messages.setdefault(_beginning(event.message), event.message[:400])
        if not start.ended and ends_server(event, role, refused=refused):
            start.ended, start.ended_time = event.line, event.time
        if role == "cause" and len(self._unserved) < MAX_SIGNS:
            self._unserved.add(stream)
        # Where the cause is not in the log, what followed from it tells when it was.
        if (role in ("cause", "consequence") or is_cut(event)) and event.source in self._batches:
            self._take_snapshot(event.source, event.line)

    def _take_snapshot(self, source: int, line: int) -> None:
        if len(self.snapshots) >= MAX_SNAPSHOTS:
            del self.snapshots[next(islice(self.snapshots, MAX_SNAPSHOTS // 4, None))]
        self.snapshots[source, line] = tuple(one for one in self._batches[source] if one[0] < line)

    def dumped(self, event: Event) -> None:
        """Keeps the stack of an event that holds one."""
        if not event.message.startswith(DUMP) or (stack := read_stack(event)) is None:
            return
        stacks = self._start((event.source, event.key)).stacks
        if stack.rank in stacks or len(stacks) < MAX_STACKS:
            stacks[stack.rank] = stack

    def served(self, source: int, key: str, number: int, line: str | bytes, time: str | None = None) -> None:
        """A line shows that requests are being served. It is kept as it is: few of them are looked at."""
        if (b" batch" in line) if isinstance(line, bytes) else (" batch" in line):
            held = self._batches.get(source)
            if held is None:
                held = self._batches[source] = deque(maxlen=_RECENT)
            held.append((number, line, time))
        if self._unserved:
            stream = (source, key)
            for waiting in [one for one in self._unserved if one == stream or self._belongs(one, stream)]:
                self._unserved.discard(waiting)
                if len(self.signs) >= MAX_SIGNS:
                    del self.signs[MAX_SIGNS // 2]
                text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
                self.signs.append(Sign(waiting, number, text, time))

    def _belongs(self, stream: Stream, other: Stream) -> bool:
        """Whether two streams of a source are of one server: not both have a start of their own."""
        return stream[0] == other[0] and not (stream in self._of_stream and other in self._of_stream)

    def clock_offsets(self) -> dict[int, float]:
        """Seconds by which the clocks of sources are ahead of that of their server's first node."""
        return offsets_of([(start.stream[0], start.number, start.args, start.steps) for start in self.starts])

    @property
    def server_args(self) -> Mapping[str, Any]:
        """Of the last start that printed them."""
        return next((start.args for start in reversed(self.starts) if start.args), {})


def _beginning(message: str) -> str:
    """How a message begins, its numbers left out: of those that only count on or name another client one is kept."""
    return message[:24].translate(_NO_DIGITS)
