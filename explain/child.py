"""A command that runs under us: its output, its signals, and what its end means."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import BinaryIO

from explain.expressions import expression
from explain.model import Report
from explain.pipes import Pipe

PASSED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH")
PATIENCE_SECONDS = 15.0
"""After this long a command that was asked to stop may not do so at all."""
OUTPUT_SECONDS = 3.0
"""How long output is awaited after the command's end: processes it left behind may hold the pipe for ever."""
STEP_SECONDS = 0.05

_KILLED = expression(r"exit ?code:? -9\b|SIGKILL|signal 9\b", re.IGNORECASE)
"""A cause that is itself a kill from outside."""
_SIGNAL_WORDS = {
    "SIGKILL": "killed from outside: the kernel's OOM killer, a memory limit, an operator, or SGLang itself",
    "SIGTERM": "asked to stop",
    "SIGINT": "interrupted with Ctrl-C",
    "SIGQUIT": "SGLang's own signal that a child process failed",
    "SIGABRT": "a native library gave up",
    "SIGSEGV": "a crash in native code",
    "SIGBUS": "a memory map could not be served, often a full /dev/shm",
    "SIGHUP": "its terminal was closed",
    "SIGILL": "an instruction this processor does not have",
    "SIGFPE": "an arithmetic fault in native code",
}
_CODE_WORDS = {
    0: "a normal end",
    1: "an error of the program",
    2: "wrong usage, most often an unknown or invalid flag",
    126: "the command cannot be executed",
    127: "the command, or a library it needs, was not found",
    137: "killed with signal 9: the OOM killer, a memory limit, or SGLang ending its own processes",
    139: "a crash in native code (signal 11)",
    143: "stopped with signal 15",
}


class Child:
    """The process. Raises `OSError` where it cannot be started."""

    def __init__(self, command: Sequence[str], tell: Callable[[str], None], *, together: bool = False) -> None:
        """`together`: standard output and error are one stream, so that their order is kept.

        Signals that reach us go on to the command from the start; where it does not end, we `tell` what to do.
        """
        self._tell = tell
        self._early: list[int] = []
        """Signals that came before the command was there."""
        self._process: subprocess.Popen[bytes] | None = None
        self.stopped_by: str | None = None
        self.output_over = threading.Event()
        """Set when the command has ended and nothing of its output is to come."""
        self._hurry = threading.Event()
        self._take_signals()
        # A group of its own: Ctrl-C reaches it once, through us, and not a second time from the terminal.
        process = subprocess.Popen(
            list(command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if together else subprocess.PIPE,
            start_new_session=os.name == "posix",
        )
        assert process.stdout is not None
        self.stdout: BinaryIO = process.stdout  # type: ignore[assignment]
        self.stderr: BinaryIO | None = process.stderr  # type: ignore[assignment]
        self._process = process
        for number in self._early:
            self._forward(number, None)

    @property
    def returncode(self) -> int:
        return self._running.returncode

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def on_exit(self, pipes: Sequence[Pipe], call: Callable[[], None]) -> None:
        """Calls back after the end, when the output that was on its way has been passed on.

        A reader that pauses, as a pager does, is waited for; processes that the command left behind are not,
        though they hold its output open: for `OUTPUT_SECONDS` only. A signal ends this wait.
        """

        def wait() -> None:
            self._running.wait()
            quiet = 0.0
            while quiet < OUTPUT_SECONDS and not all(pipe.passed_on.is_set() for pipe in pipes):
                before = time.monotonic()
                if self._hurry.wait(STEP_SECONDS):
                    break
                if not any(pipe.passing for pipe in pipes):
                    quiet += time.monotonic() - before
            self.output_over.set()
            call()

        threading.Thread(target=wait, name="child", daemon=True).start()

    def _take_signals(self) -> None:
        """Signals that reach us go on to the command; we end when it does."""
        for name in PASSED:
            number = getattr(signal, name, None)
            if number is None or (name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN):
                continue  # under `nohup`, the command ignores it as well
            signal.signal(number, self._forward)
        if os.name == "posix":
            signal.signal(signal.SIGTSTP, self._pause)

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
            return
        if self._process.poll() is not None:
            self._hurry.set()
            return
        first = self.stopped_by is None
        self.stopped_by = signal.Signals(number).name
        if first and self.stopped_by in ("SIGINT", "SIGTERM"):
            timer = threading.Timer(PATIENCE_SECONDS, self._still_there, [self.stopped_by])
            timer.daemon = True
            timer.start()
        try:
            if number == signal.SIGINT and os.name == "posix":
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)
        except (ProcessLookupError, PermissionError):
            self.stopped_by = None

    def _still_there(self, name: str) -> None:
        if self._running.poll() is None:
            self._tell(
                f"the command still runs {PATIENCE_SECONDS:.0f} s after {name}; a server that hangs is "
                f"ended with all its processes by SIGQUIT: Ctrl-\\, or kill -QUIT {os.getpid()}"
            )

    def _pause(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-Z stops the command with us, `fg` and `bg` let both go on."""
        # Not SIGTSTP: a group without a parent in its session ignores it.
        if self._process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._running.pid, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._running.pid, signal.SIGCONT)

    def wait(self) -> int:
        """The exit status as a shell gives it: 128 + N for signal N."""
        code = self._running.wait()
        return 128 - code if code < 0 else code


def ending_words(code: int, stopped_by: str | None, report: Report) -> str:
    """What the end of the command means, in words."""
    cause = report.findings[0] if report.findings and report.findings[0].role == "cause" else None
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        words = f"the command was ended by {name} ({_SIGNAL_WORDS.get(name, 'a signal')})"
        if name == "SIGKILL" and report.findings:
            words = "the command was ended by SIGKILL, which SGLang sends to its processes after a failure"
            if cause is not None and not _KILLED.search(cause.message):
                words += " (no sign of the OOM killer)"
    else:
        words = f"the command ended with {code}" + (f" ({_CODE_WORDS[code]})" if code in _CODE_WORDS else "")
    if stopped_by is not None:
        words += f", after {stopped_by} was passed to it"
    if cause is not None:
        title = cause.record.title if cause.record else f"{cause.exception or ''}: {cause.message}".strip(": ")
        words += f"; first cause: {title}"
    elif code not in (0,) and stopped_by is None and not report.findings:
        words += "; its output names no error"
    return words
