"""Wires `--follow` and `run` for the command line: output, signals, exit codes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from explain.announce import TerminalAnnouncer, to_text
from explain.child import Child, ending_words
from explain.console import FAILED, UsageProblem, complain, report_problems, wants_color
from explain.eventlog import JsonlAnnouncer
from explain.following import Announcer, Follower, Options
from explain.hooks import Metrics, OnFinding
from explain.matcher import Matcher
from explain.model import reason_of
from explain.pipes import Pipe
from explain.run import load_knowledge, standard_input
from explain.screen import file_bytes, is_own, owns_screen, reader_left, screen_of

FORMATS = ("terminal", "jsonl")
MOST_DIGITS = 15


def follow(
    names: Sequence[str],
    *,
    form: str,
    patterns: Sequence[Path],
    only_patterns: bool,
    show_all: bool,
    color: str,
    sglang: Path | None,
    start: str,
    poll: bool,
    state: Path | None,
    tee: bool,
    on_finding: str | None,
    metrics: Path | None,
) -> int:
    """Follows until Ctrl-C or the end of the pipe; returns the exit code."""
    if form not in FORMATS:
        raise UsageProblem(f"--format {form}: with --follow choose from {', '.join(FORMATS)}")
    if start not in ("start", "end") and not (start.isdecimal() and len(start) <= MOST_DIGITS):
        raise UsageProblem(f"--from {start}: choose start, end or a number of lines")
    if tee and "-" not in names:
        raise UsageProblem("--tee: passes standard input on; add - as the source")
    catalogue, sites, _ = load_knowledge(patterns, only=only_patterns, sglang=sglang)
    piped = standard_input(names)
    pipes = [Pipe("-", piped, sys.stdout.buffer if tee else None)] if piped is not None else []
    target = sys.stderr.buffer if tee else sys.stdout.buffer
    follower = Follower(
        [name for name in names if name != "-"],
        pipes,
        Matcher(catalogue, sites),
        announcer(form, target, color, show_all, beside=pipes),
        Options(
            start=start,
            poll=poll,
            state=state,
            on_finding=hook(on_finding),
            metrics=keeper(metrics),
            is_own=partial(is_own, [state, metrics], [sys.stdout.buffer, sys.stderr.buffer]),
            output_bytes=partial(file_bytes, target),
            reader_left=partial(reader_left, target),
        ),
        lambda problem: report_problems([problem]),
    )
    install_signals(follower)
    follower.run()
    if follower.deaf:
        raise BrokenPipeError
    return FAILED if catalogue.problems and only_patterns else 0


def run_command(
    command: Sequence[str],
    *,
    form: str,
    patterns: Sequence[Path],
    only_patterns: bool,
    show_all: bool,
    color: str,
    on_finding: str | None,
    metrics: Path | None,
) -> int:
    """Runs a command, passes its output and signals through, and tells on standard error what failed.

    Returns the command's exit status, 128 + N where signal N ended it; 126 or 127 where it cannot be started.
    """
    if form not in FORMATS:
        raise UsageProblem(f"--format {form}: with run choose from {', '.join(FORMATS)}")
    catalogue, sites, _ = load_knowledge(patterns, only=only_patterns, sglang=None)
    matcher = Matcher(catalogue, sites)
    together = same_place(sys.stdout.buffer, sys.stderr.buffer)
    try:
        child = Child(command, lambda text: complain(f"run: {text}"), together=together)
    except OSError as error:
        complain(f"run: {command[0]}: cannot be started: {reason_of(error)}; check the name and the path")
        return 127 if isinstance(error, FileNotFoundError) else 126
    pipes = [Pipe("output" if together else "stdout", child.stdout, sys.stdout.buffer)]
    if child.stderr is not None:
        pipes.append(Pipe("stderr", child.stderr, sys.stderr.buffer))
    follower = Follower(
        [],
        pipes,
        matcher,
        announcer(form, sys.stderr.buffer, color, show_all, beside=pipes),
        Options(on_finding=hook(on_finding), metrics=keeper(metrics)),
        lambda problem: report_problems([problem]),
    )
    child.on_exit(pipes, follower.stop)
    try:
        follower.run()
    except Exception as error:
        if os.environ.get("SGLANG_EXPLAIN_DEBUG"):
            raise
        complain(
            f"run: internal error: {type(error).__name__}: {error}; the command goes on, its output is "
            "passed on and no longer explained"
        )
    for pipe in pipes:
        pipe.pass_on_only()
    status = child.wait()
    child.output_over.wait()  # what the command wrote last may still be on its way through us
    complain(f"run: {ending_words(child.returncode, child.stopped_by, follower.live.report(0.0))}")
    return status


def same_place(one: BinaryIO, other: BinaryIO) -> bool:
    """Whether both streams end in the same terminal, pipe or file."""
    try:
        return os.path.sameopenfile(one.fileno(), other.fileno())
    except (OSError, ValueError, AttributeError):
        return False


def announcer(form: str, target: BinaryIO, color: str, show_all: bool, beside: Sequence[Pipe] = ()) -> Announcer:
    """What tells of findings on `target`; the pipes `beside` it may pass the log on to the same place."""
    if form == "jsonl":
        return JsonlAnnouncer(target)
    terminal, width = screen_of(target)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    colored = wants_color(color, terminal, target)
    near = [pipe for pipe in beside if pipe.tee is not None and same_place(pipe.tee, target)]

    def in_place() -> bool:
        return terminal and not near and owns_screen(target)

    write = to_text(target, encoding)

    def write_below(text: str) -> None:
        write("\n" + text if any(pipe.line_open for pipe in near) else text)

    return TerminalAnnouncer(write_below, in_place, width, colored, show_all)


def hook(command: str | None) -> OnFinding | None:
    if command is None:
        return None
    try:
        return OnFinding(command, complain)
    except ValueError as error:
        raise UsageProblem(f"--on-finding {command}: {error}; give a command as a shell would take it") from None


def keeper(path: Path | None) -> Metrics | None:
    return Metrics(path, lambda problem: report_problems([problem])) if path else None


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
