"""Following in a real terminal: counted in place, resized, interrupted, in the background, behind `| head`."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explain.render.text import TIMES
from tests.followed import EXPLAIN, HEALTHY, ROOT, Terminal
from tests.torture import await_open, failure

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="watches processes through /proc")
COUNT = re.compile(r"(\d+) " + re.escape(TIMES))
_ESCAPE = re.compile(r"\x1b\[[\d;]*[A-Za-z]")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(b"")
    return path


@pytest.fixture
def terminal(log: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(**options: object) -> Terminal:
        opened.append(Terminal([*EXPLAIN, "-f", str(log)], **options))  # type: ignore[arg-type]
        if not options.get("background"):
            await_open(opened[-1].process.pid, log)
        else:
            time.sleep(3.0)
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def add(log: Path, data: bytes) -> None:
    with log.open("ab") as file:
        file.write(data)


def rows(text: bytes) -> list[str]:
    """The lines a terminal shows, where the last line is rewritten in place."""
    lines = []
    for line in text.decode().replace("\r\n", "\n").split("\n"):
        lines.append(_ESCAPE.sub("", line.rpartition("\r")[2]))
    return lines


def widest(text: bytes) -> int:
    """Columns of the longest row; an address is never broken."""
    return max(len(row) for row in rows(text) if "https://" not in row)


def test_repeats_are_counted_in_place(terminal, log: Path) -> None:  # type: ignore[no-untyped-def]
    shown = terminal()
    add(log, failure(1, 0) + HEALTHY)
    shown.await_text(b"planted failure baaa")
    for number in range(2, 6):
        add(log, failure(1, 0) + HEALTHY)
        shown.await_text(f"{number} {TIMES}".encode())
    assert [COUNT.search(row)[1] for row in rows(shown.text) if COUNT.search(row)] == ["5"]  # type: ignore[index]


def test_lines_fit_after_the_terminal_was_resized(terminal, log: Path) -> None:  # type: ignore[no-untyped-def]
    shown = terminal(columns=100)
    add(log, failure(1, 0) + HEALTHY)
    wide = shown.await_text(b"planted failure baaa")
    assert widest(wide) == 100
    add(log, failure(1, 0) + HEALTHY)
    shown.await_text(f"2 {TIMES}".encode())
    shown.resize(50)
    add(log, failure(1, 0) + HEALTHY)
    # What the terminal broke into two rows cannot be rewritten: the count goes on in a line of its own.
    narrow = shown.await_text(f"3 {TIMES}".encode())
    assert narrow.startswith(b"\r\n") and widest(narrow) < 50
    add(log, failure(1, 0) + HEALTHY)
    assert b"\n" not in shown.await_text(f"4 {TIMES}".encode())
    add(log, failure(2, 0) + HEALTHY)
    assert widest(shown.await_text(b"planted failure caaa")) == 50
    shown.resize(120)
    add(log, failure(3, 0) + HEALTHY)
    assert widest(shown.await_text(b"planted failure daaa")) == 100  # lines do not grow beyond reading


def test_ctrl_c_prints_the_summary_and_leaves_the_terminal_as_it_was(terminal, log: Path) -> None:  # type: ignore[no-untyped-def]
    shown = terminal()
    add(log, failure(1, 0) + HEALTHY)
    shown.await_text(b"planted failure baaa")
    add(log, failure(1, 0) + HEALTHY)
    shown.await_text(f"2 {TIMES}".encode())
    shown.type(b"\x03")
    text = shown.await_text(b"planted failure baaa")
    assert shown.process.wait(30) == 0
    assert b"Traceback" not in text and text.endswith(b"\n")


def test_a_background_job_writes_whole_lines_only(terminal, log: Path) -> None:  # type: ignore[no-untyped-def]
    shown = terminal(background=True)
    add(log, failure(1, 0) + HEALTHY)
    shown.await_text(b"planted failure baaa")
    for _ in range(30):
        add(log, failure(1, 0) + HEALTHY)
    text = shown.await_text(TIMES.encode())
    assert b"\x1b[K" not in text and text.endswith(b"\n")


def test_head_ends_the_follower(log: Path, tmp_path: Path) -> None:
    command = f"{shlex.join([*EXPLAIN, '-f', str(log)])} 2>{shlex.quote(str(tmp_path / 'errors'))} | head -n 2"
    process = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, cwd=ROOT)
    time.sleep(2.0)
    for number in range(1, 4):
        add(log, failure(number, 0) + HEALTHY)
        time.sleep(0.3)
    text, _ = process.communicate(timeout=30)
    assert len(text.splitlines()) == 2 and (tmp_path / "errors").read_bytes() == b""


def test_run_hands_ctrl_c_on_from_its_terminal(tmp_path: Path) -> None:
    script = "import signal, sys, time; signal.signal(signal.SIGINT, lambda *_: sys.exit(7)); print('up', flush=True); time.sleep(60)"
    shown = Terminal([*EXPLAIN, "run", "--", "python3", "-c", script])
    try:
        shown.await_text(b"up")
        shown.type(b"\x03")
        shown.await_text(b"after SIGINT was passed to it")
        assert shown.process.wait(30) == 7
    finally:
        shown.close()


def test_a_stopped_follower_goes_on_where_it_was(terminal, log: Path) -> None:  # type: ignore[no-untyped-def]
    shown = terminal()
    shown.process.send_signal(signal.SIGSTOP)
    add(log, failure(1, 0) + HEALTHY)
    assert shown.read(1.0) == b""
    shown.process.send_signal(signal.SIGCONT)
    shown.await_text(b"planted failure baaa")
