"""`--follow`: the loop that reads, tells, and keeps its place."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from explain.announce import TerminalAnnouncer
from explain.console import Complaints
from explain.eventlog import JsonlAnnouncer
from explain.hooks import Metrics, OnFinding
from explain.live import Live, News
from explain.matcher import Matcher
from explain.model import Event, Match, Problem, Role, reason_of
from explain.pipes import Pipe
from explain.state import State, load_state, save_state
from explain.tails import Tails
from explain.values import dataclass

Announcer = TerminalAnnouncer | JsonlAnnouncer
POLL_SECONDS = 0.1
RESCAN_SECONDS = 1.0
SAVE_SECONDS = 0.5
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
    is_own: Callable[[str, os.stat_result], bool] = lambda _path, _status: False
    """Whether we write a file ourselves."""
    output_bytes: Callable[[], int | None] = lambda: None
    """The size of the file that the output goes to, None where it goes elsewhere."""
    reader_left: Callable[[], bool] = lambda: False
    """Whether nobody reads our output any more: a quiet follower would not notice by writing."""


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
        self._pipes = list(pipes)
        self._announcer = announcer
        self._options = options
        self._complain = complain
        self.deaf = False
        """Whether the reader of the output went away."""
        self.stopped = threading.Event()
        self._wake = threading.Event()
        self._started = time.monotonic()
        self._rescan_at = 0.0
        self._save_at = 0.0
        self._state = State()
        self._saved: object = None
        """What the state on the disk says of the places."""
        self._state_complaints = Complaints(complain)
        self._output_complaints = Complaints(complain)
        if options.state is not None:
            self._state, problem = load_state(options.state)
            if problem is not None:
                complain(problem)
            self._state.forget_unwritten(self._output_bytes())
        on_event = None
        if isinstance(announcer, JsonlAnnouncer):
            on_event = self._on_event
            if options.state is not None:
                announcer.resume(self._state.written)
        self.live = Live(matcher, announcer.names, on_event, dict(self._state.told))
        self._tails = Tails(sources, self.live, options.start, self._state, complain, options.is_own)
        self._pipe_numbers: list[int] = []
        for pipe in self._pipes:
            pipe.wake = self._wake
            self._pipe_numbers.append(len(announcer.names))
            announcer.names.append(pipe.name)
            pipe.start()

    # ------------------------------------------------------------------ the loop

    def run(self) -> None:
        """Returns when stopped, or at the end of the pipes where nothing else is followed."""
        wait = self._waiter()
        if self._options.state is not None:
            # What is written from here on can be told from what was there before.
            self._place()
            self._keep(None)
        while not self.stopped.is_set():
            busy = self.step(time.monotonic())
            if self._pipes and not self._tails.opened and all(pipe.ended for pipe in self._pipes):
                break
            if not busy:
                wait()
        self.close()

    def step(self, now: float) -> bool:
        """Reads what is there and tells it; whether anything was read."""
        if now >= self._rescan_at:
            self._rescan_at = now + RESCAN_SECONDS
            self._tails.scan()
            if not self.deaf and self._options.reader_left():
                self._unread()
        read = False
        for number, tail in self._tails.opened:
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
            self._options.metrics.write(self.live, self._lag(), now)
        if not read and not self.live.waiting and isinstance(self._announcer, JsonlAnnouncer):
            self._announcer.caught_up()
        if now >= self._save_at:
            self._save(now)
        return read

    def _lag(self) -> int:
        return sum(tail.size for _, tail in self._tails.opened)

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
        for _, tail in self._tails.opened:
            tail.close()

    def stop(self, *_: object) -> None:
        self.stopped.set()
        self._wake.set()

    # ------------------------------------------------------------------ telling

    def _on_event(self, event: Event, match: Match, role: Role) -> None:
        assert isinstance(self._announcer, JsonlAnnouncer)
        announcer = self._announcer
        self._say(lambda: announcer.event(event, match, role, self.live.generation))

    def _tell(self, now: float) -> None:
        told = False
        for news in self.live.news(now):
            if news.kind != "new" or self._options.state is None:
                self._announce_one(news)
                continue
            # Before and right behind the announcement, so that a restart neither repeats nor misses it. The
            # place stays where it was until all news are told: what is read again is told once all the same.
            self._keep((news.finding.id, self._output_bytes()))
            self._announce_one(news)
            self._keep(None)
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
        problem = None
        try:
            speak()
        except (BrokenPipeError, ConnectionResetError):
            self._unread()
        except OSError as error:
            problem = Problem("output", "", f"cannot be written: {reason_of(error)}", "following goes on")
        self._output_complaints.hear(problem)

    def _unread(self) -> None:
        """Nobody reads us any more: we end, unless others are served, too."""
        self.deaf = True
        hooks = self._options.on_finding is not None or self._options.metrics is not None
        if hooks or any(pipe.tee for pipe in self._pipes):
            self._complain(Problem("output", "", "its reader went away", "following goes on without it"))
        else:
            self.stop()

    # ------------------------------------------------------------------ state

    def _save(self, now: float) -> None:
        self._save_at = now + SAVE_SECONDS
        if self._options.state is None:
            return
        left = dict(self._tails.left())
        self._place()
        place = (left, self._state.written, self.live.explainer.events)
        if place == self._saved:
            return  # a quiet log does not wear out a disk
        self._state.left = left
        self._state.counted = {name: told.count for name, told in self.live.told.items()}
        self._state.at = time.time()
        self._saved = place if self._keep(None) else None

    def _place(self) -> None:
        if isinstance(self._announcer, JsonlAnnouncer):
            self._state.written = self._announcer.place(self._tails.is_settled)

    def _keep(self, telling: tuple[str, int] | None) -> bool:
        """Writes the state: what was told by now, the places as they were when they were taken last."""
        assert self._options.state is not None
        self._state.told, self._state.telling = self.live.told, telling
        problem = save_state(self._options.state, self._state)
        self._state_complaints.hear(problem)
        return problem is None

    # ------------------------------------------------------------------ waiting

    def _waiter(self) -> Callable[[], None]:
        """How to sleep until something changes. Notifications where they work, else a short nap."""
        if self._pipes:
            return self._wait_for_pipe
        if not self._options.poll:
            from explain.waiting import wait_for_change

            try:
                return wait_for_change(self._tails.watched(), self.stopped)
            except (ImportError, OSError, RuntimeError) as error:
                self._complain(Problem("--follow", "", f"no change notifications here ({error})", "polling instead"))
        return self._nap

    def _nap(self) -> None:
        self.stopped.wait(POLL_SECONDS)

    def _wait_for_pipe(self) -> None:
        self._wake.wait(POLL_SECONDS)
        self._wake.clear()
