"""`--follow`: the loop that reads, tells, and keeps its place."""

from __future__ import annotations

import glob
import os
import queue
import select
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from explain.announce import Announcer, write_through
from explain.follow import Mark, Tail
from explain.hooks import Metrics, OnFinding
from explain.live import Live, News
from explain.matcher import Matcher
from explain.model import Problem
from explain.sources import LOG_NAMES
from explain.state import State, load_state, save_state
from explain.values import dataclass, field

POLL_SECONDS = 0.1
WAKE_SECONDS = 0.25
"""How long the loop sleeps at most where the system tells of changes: an open traceback closes in time."""
RESCAN_SECONDS = 1.0
SAVE_SECONDS = 0.5
LOOK_BACK_BYTES = 16 * 1024 * 1024
PIPE_BYTES = 256 * 1024
PIPE_AHEAD = 64
AT_END_SECONDS = 5.0
"""How long a command that was started for a finding may take to finish when we end."""


@dataclass(slots=True)
class Options:
    """What `--follow` was asked for. `start`: "start", "end" or a number of lines."""

    start: str = "end"
    poll: bool = False
    state: Path | None = None
    on_finding: OnFinding | None = None
    metrics: Metrics | None = None
    output_bytes: Callable[[], int | None] = lambda: None
    """The size of the file that the output goes to, None where it goes elsewhere."""
    reader_left: Callable[[], bool] = lambda: False
    """Whether nobody reads our output any more: a quiet follower would not notice by writing."""


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
            if self.tee is not None:
                try:
                    write_through(self.tee, data)
                    self.line_open = not data.endswith(b"\n")
                except (OSError, ValueError):
                    self.tee = None  # the reader of the log went away; explaining goes on
            if not self.unheard:
                self.pieces.put(data)
                self.wake.set()
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


class Follower:
    """Follows files, folders, globs and pipes until it is stopped or every pipe has ended."""

    def __init__(
        self,
        sources: Sequence[str],
        pipes: Sequence[Pipe],
        matcher: Matcher,
        announcer: Announcer,
        options: Options,
        complain: Callable[[Problem], None],
    ) -> None:
        """`announcer.names` becomes the list of all sources by number."""
        self._sources = list(sources)
        self._pipes = list(pipes)
        self._announcer = announcer
        self._options = options
        self._complain = complain
        self._names = announcer.names
        self._tails: list[tuple[int, Tail]] = []
        self._pipe_numbers: list[int] = []
        self.deaf = False
        """Whether the reader of the output went away."""
        self.stopped = threading.Event()
        self._wake = threading.Event()
        self._started = time.monotonic()
        self._rescan_at = 0.0
        self._scanned = False
        self._save_at = 0.0
        self._state = State()
        self._told_state: str | None = None
        self._told_output: str | None = None
        if options.state is not None:
            self._state, problem = load_state(options.state)
            if problem is not None:
                complain(problem)
            self._state.forget_unwritten(self._output_bytes())
        self._marked = dict(self._state.marks)
        self.live = Live(matcher, self._names, announcer.on_event, dict(self._state.told))
        for pipe in self._pipes:
            pipe.wake = self._wake
            self._pipe_numbers.append(self._add_name(pipe.name))
            pipe.start()

    def _add_name(self, name: str) -> int:
        self._names.append(name)
        return len(self._names) - 1

    # ------------------------------------------------------------------ the loop

    def run(self) -> None:
        """Returns when stopped, or at the end of the pipes where nothing else is followed."""
        wait = self._waiter()
        while not self.stopped.is_set():
            busy = self.step(time.monotonic())
            if self._pipes and not self._tails and all(pipe.ended for pipe in self._pipes):
                break
            if not busy:
                wait()
        self.close()

    def step(self, now: float) -> bool:
        """Reads what is there and tells it; whether anything was read."""
        if now >= self._rescan_at:
            self._rescan_at = now + RESCAN_SECONDS
            self._scan(first=not self._scanned)
            self._scanned = True
            if not self.deaf and self._options.reader_left():
                self._unread()
        read = False
        for number, tail in self._tails:
            for piece in tail.poll(now):
                read = True
                self.live.feed(number, piece.generation, piece.data, now)
                self._tell(now)
            for problem in tail.problems:
                self._complain(problem)
            tail.problems.clear()
        for number, pipe in zip(self._pipe_numbers, self._pipes, strict=True):
            for data in pipe.take():
                read = True
                self.live.feed(number, 0, data, now)
                self._tell(now)
        self._tell(now)
        if self._options.metrics is not None:
            self._options.metrics.write(self.live, sum(tail.size for _, tail in self._tails), now)
        if now >= self._save_at:
            self._save(now)
        return read

    def close(self) -> None:
        now = time.monotonic()
        closing = list(self.live.finish(now))
        first = self.live.report(0.0).findings[:1]
        for news in closing:
            # The summary that follows at once is led by this finding.
            self._announce_one(news, shown=news.kind == "new" and news.finding.id in [one.id for one in first])
        self._say(lambda: self._announcer.summary(self.live, now - self._started))
        self._save(now)
        if self._options.metrics is not None:
            self._options.metrics.write(self.live, 0, now, force=True)
        if self._options.on_finding is not None:
            self._options.on_finding.close(AT_END_SECONDS)
        for _, tail in self._tails:
            tail.close()

    def stop(self, *_: object) -> None:
        self.stopped.set()
        self._wake.set()

    def _tell(self, now: float) -> None:
        told = False
        for news in self.live.news(now):
            if news.kind != "new" or self._options.state is None:
                self._announce_one(news)
                continue
            # Before and right behind the announcement, so that a restart neither repeats nor misses it. The
            # place stays where it was until all news are told: what is read again is told once all the same.
            self._write_state(State(self._marked, self.live.told, (news.finding.id, self._output_bytes())))
            self._announce_one(news)
            self._write_state(State(self._marked, self.live.told))
            told = True
        if (report := self.live.stalled(now)) is not None:
            self._say(lambda: self._announcer.stalled(report))
        if told:
            self._save(now)

    def _output_bytes(self) -> int:
        size = self._options.output_bytes()
        return -1 if size is None else size

    def _announce_one(self, news: News, *, shown: bool = False) -> None:
        if not shown:
            self._say(lambda: self._announcer.tell(news, self.live))
        if self._options.on_finding is not None and news.kind == "new" and news.finding.role == "cause":
            self._options.on_finding.run(news.finding)

    def _say(self, speak: Callable[[], None]) -> None:
        """Writes to whoever reads us."""
        if self.deaf:
            return
        try:
            speak()
        except (BrokenPipeError, ConnectionResetError):
            self._unread()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            if reason != self._told_output:
                self._complain(Problem("output", "", f"cannot be written: {reason}", "following goes on"))
            self._told_output = reason

    def _unread(self) -> None:
        """Nobody reads us any more: we end, unless others are served, too."""
        self.deaf = True
        hooks = self._options.on_finding is not None or self._options.metrics is not None
        if hooks or any(pipe.tee for pipe in self._pipes):
            self._complain(Problem("output", "", "its reader went away", "following goes on without it"))
        else:
            self.stop()

    # ------------------------------------------------------------------ files

    def _scan(self, *, first: bool) -> None:
        """Starts to follow what the sources name and is not followed yet."""
        known = {tail.path for _, tail in self._tails}
        for source in self._sources:
            paths = _paths(source)
            for path in paths:
                if path not in known:
                    known.add(path)
                    self._follow(path, new=not first)
            if first and not paths:
                self._complain(Problem(source, "", "holds no log yet", "following waits for one"))

    def _follow(self, path: str, *, new: bool) -> None:
        number = self._add_name(path)
        tail = Tail(path)
        if path in self._state.marks:
            mark, line = self._state.marks[path]
            tail.start = mark
            self.live.start_at_line(number, line)
        elif not new:
            tail.start, line = _start(path, self._options.start)
            self.live.start_at_line(number, line)
            if self._options.start == "end":
                self._look_back(number, path, int(tail.start) if isinstance(tail.start, int) else 0)
        self._tails.append((number, tail))

    def _look_back(self, number: int, path: str, end: int) -> None:
        """Reads the end of what was written before: how the server was started, whether it failed already.

        Only what the last server of the log said counts: a failure that it recovered from is not told.
        """
        start = max(end - LOOK_BACK_BYTES, 0)
        try:
            with open(path, "rb") as file:
                file.seek(start)
                if start:
                    file.readline()
                begin = file.tell()
                data = file.read(end - begin)
        except OSError as error:
            self._complain(
                Problem(
                    path,
                    "",
                    f"cannot be read: {(error.strerror or str(error)).lower()}",
                    "following waits for it",
                )
            )
            return
        life = data.rfind(b"\n", 0, max(data.rfind(b"server_args="), 0)) + 1
        self.live.start_at_line(number, _count_lines(path, begin + life) + 1)
        if life < len(data):
            self.live.feed(number, -1, data[life:], time.monotonic())
        self.live.start_at_line(number, _count_lines(path, end) + 1)

    # ------------------------------------------------------------------ state

    def _save(self, now: float) -> None:
        self._save_at = now + SAVE_SECONDS
        if self._options.state is None:
            return
        marks: dict[str, tuple[Mark, int]] = {}
        for number, tail in self._tails:
            marked = tail.mark(partial(self._unsettled, number))
            if marked is not None:
                mark, generation = marked
                marks[tail.path] = (mark, self.live.settled(number, generation)[1])
        self._marked = {**self._state.marks, **marks}
        self._write_state(State(self._marked, self.live.told))

    def _write_state(self, state: State) -> None:
        assert self._options.state is not None
        problem = save_state(self._options.state, state)
        message = problem.message if problem else None
        if problem is not None and message != self._told_state:
            self._complain(problem)
        self._told_state = message

    def _unsettled(self, number: int, generation: int) -> int:
        return self.live.settled(number, generation)[0]

    # ------------------------------------------------------------------ waiting

    def _waiter(self) -> Callable[[], None]:
        """How to sleep until something changes. Notifications where they work, else a short nap."""
        if self._pipes:
            return self._wait_for_pipe
        if not self._options.poll:
            try:
                return self._wait_for_change()
            except (ImportError, OSError, RuntimeError) as error:
                self._complain(Problem("--follow", "", f"no change notifications here ({error})", "polling instead"))
        return self._nap

    def _nap(self) -> None:
        self.stopped.wait(POLL_SECONDS)

    def _wait_for_pipe(self) -> None:
        self._wake.wait(POLL_SECONDS)
        self._wake.clear()

    def _wait_for_change(self) -> Callable[[], None]:
        from watchfiles import watch

        folders = sorted(
            {os.path.dirname(os.path.abspath(path)) for source in self._sources for path in _watched(source)}
        )
        existing = [folder for folder in folders if os.path.isdir(folder)]
        if not existing or any(_is_remote(folder) for folder in existing):
            raise OSError("the folder is not there yet or not local")
        changes = watch(
            *existing,
            watch_filter=None,
            debounce=40,
            step=10,
            stop_event=self.stopped,
            rust_timeout=int(WAKE_SECONDS * 1000),
            yield_on_timeout=True,
            recursive=False,
            raise_interrupt=False,
        )

        def wait() -> None:
            next(changes, None)

        return wait


def _paths(source: str) -> list[str]:
    """The files that a source stands for now; a plain name stands for itself, whether it exists or not."""
    if os.path.isdir(source):
        return sorted(str(path) for path in Path(source).iterdir() if path.is_file() and _is_log(path))
    if glob.has_magic(source) and not os.path.exists(source):
        return sorted(path for path in glob.glob(source, recursive=True) if os.path.isfile(path))
    return [source]


def _is_log(path: Path) -> bool:
    rotated = path.suffix.lstrip(".").isdigit()
    packed = path.suffix in (".gz", ".xz", ".zst", ".bz2")
    return not path.name.startswith(".") and not packed and not rotated and any(path.match(name) for name in LOG_NAMES)


def _watched(source: str) -> list[str]:
    """Paths whose folders are watched."""
    return [os.path.join(source, "x")] if os.path.isdir(source) else [source, *_paths(source)]


def _is_remote(folder: str) -> bool:
    """Network file systems and /proc tell of no changes."""
    if folder.startswith(("/proc", "/sys")):
        return True
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            mounts = [line.split()[1:3] for line in file]
    except OSError:
        return False
    best = max(
        (mount for mount in mounts if _below(folder, mount[0])),
        key=lambda mount: len(mount[0]),
        default=["", ""],
    )
    return best[1] in {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "9p",
        "fuse.sshfs",
        "ceph",
        "lustre",
        "virtiofs",
        "fuse.glusterfs",
    }


def _below(folder: str, mount: str) -> bool:
    return folder == mount or folder.startswith(mount.rstrip("/") + "/")


def _start(path: str, wanted: str) -> tuple[int, int]:
    """(byte, line) at which following begins in a file that exists."""
    try:
        size = os.path.getsize(path)
    except OSError:
        return 0, 1
    if wanted == "start":
        return 0, 1
    if wanted == "end":
        end = _line_start(path, size)
        return end, _count_lines(path, end) + 1
    offset = _last_lines(path, size, int(wanted))
    return offset, _count_lines(path, offset) + 1


def _line_start(path: str, size: int) -> int:
    """Where the last line that has not ended begins; `size` where the file ends with a line end."""
    return _last_lines(path, size, 0)


def _last_lines(path: str, size: int, count: int) -> int:
    """Where the last `count` complete lines begin."""
    position, found = size, -1
    with open(path, "rb") as file:
        while position > 0:
            start = max(position - PIPE_BYTES, 0)
            file.seek(start)
            data = file.read(position - start)
            end = len(data)
            while (newline := data.rfind(b"\n", 0, end)) >= 0:
                found += 1
                if found >= count:
                    return start + newline + 1
                end = newline
            position = start
    return 0


def _count_lines(path: str, end: int) -> int:
    count = 0
    with open(path, "rb") as file:
        while end > 0:
            data = file.read(min(end, 1024 * 1024))
            if not data:
                break
            count += data.count(b"\n")
            end -= len(data)
    return count


def install_signals(follower: Follower) -> None:
    """Ctrl-C and a polite end both lead to the summary. `nohup` keeps its promise."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        follower.stop()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None or (name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN):
            continue
        if threading.current_thread() is threading.main_thread():
            signal.signal(number, stop)


def screen_of(target: BinaryIO) -> tuple[bool, Callable[[], int]]:
    """(whether the target is a terminal, how wide it is now)."""
    try:
        terminal = target.isatty()
    except (OSError, ValueError, AttributeError):
        terminal = False

    def width() -> int:
        if not terminal:
            return 80
        try:
            return os.get_terminal_size(target.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    return terminal, width


def reader_left(target: BinaryIO) -> bool:
    """Whether the other end of a pipe or socket is closed, or a terminal gone."""
    try:
        watch = select.poll()
        watch.register(target.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in watch.poll(0))
    except (OSError, ValueError, AttributeError):
        return False


def owns_screen(target: BinaryIO) -> bool:
    """Whether the last line of this terminal is ours: behind a background job it may be a prompt."""
    if os.environ.get("TERM") == "dumb":
        return False
    try:
        return os.tcgetpgrp(target.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return os.name != "posix"


def file_bytes(target: BinaryIO) -> int | None:
    """The size of the file that the target is, None for a terminal or a pipe."""
    try:
        status = os.fstat(target.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
