"""Followers as real processes, for tests."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.torture import await_open

ROOT = Path(__file__).resolve().parent.parent
EXPLAIN = [sys.executable, "-m", "explain"]
READY = b"[2026-11-30 08:15:40] The server is fired up and ready to roll!\n"
HEALTHY = b'[2026-11-30 08:15:41] INFO:     10.0.0.1:4 - "GET /health HTTP/1.1" 200 OK\n'


class Followed:
    """A follower of one file, started and waited for."""

    def __init__(self, folder: Path, *options: str, start: bytes = b"") -> None:
        self.log, self.out, self.err = folder / "server.log", folder / "out.txt", folder / "err.txt"
        self.log.write_bytes(start)
        self.process = subprocess.Popen(
            [*EXPLAIN, "--follow", *options, str(self.log)],
            stdout=self.out.open("wb"),
            stderr=self.err.open("wb"),
            cwd=ROOT,
        )
        await_open(self.process.pid, self.log)

    def write(self, data: bytes) -> None:
        with self.log.open("ab") as file:
            file.write(data)

    def text(self) -> str:
        return self.out.read_text(errors="replace")

    def await_text(self, wanted: str, seconds: float = 30.0) -> str:
        return await_that(lambda: self.text() if wanted in self.text() else "", f"{wanted!r} in the output", seconds)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


def await_that(check: Callable[[], str], what: str, seconds: float = 30.0) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := check():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not seen within {seconds} s: {what}")


class Terminal:
    """A command on a terminal of its own, in its foreground unless `background`."""

    def __init__(self, command: Sequence[str], *, columns: int = 80, background: bool = False) -> None:
        self._ours, theirs = pty.openpty()
        self.text = b""
        self._theirs = os.dup(theirs)
        self._set_size(columns)

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        if background:  # a shell that waits for the next command owns the terminal
            shell = "import os, subprocess, sys; subprocess.run(sys.argv[1:], preexec_fn=os.setpgrp)"
            command = [sys.executable, "-c", shell, *command]
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            env=environment | {"TERM": "xterm"},
            preexec_fn=take_terminal,
        )
        os.close(theirs)

    def _set_size(self, columns: int) -> None:
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def resize(self, columns: int) -> None:
        """As a window manager does: the kernel sends SIGWINCH to the foreground."""
        self._set_size(columns)

    def type(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def read(self, seconds: float) -> bytes:
        """What is shown within so long."""
        end, before = time.monotonic() + seconds, len(self.text)
        while (left := end - time.monotonic()) > 0:
            if select.select([self._ours], [], [], left)[0]:
                with contextlib.suppress(OSError):
                    self.text += os.read(self._ours, 65536)
        return self.text[before:]

    def await_text(self, wanted: bytes, seconds: float = 30.0) -> bytes:
        """What is shown until `wanted` stands there, and a moment more."""
        end, before = time.monotonic() + seconds, len(self.text)
        while wanted not in self.text[before:]:
            assert time.monotonic() < end, f"not shown within {seconds} s: {wanted!r} in {self.text!r}"
            self.read(0.05)
        self.read(0.2)
        return self.text[before:]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)  # hangs up: what still runs on it ends
        os.close(self._theirs)
