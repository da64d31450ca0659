"""What may go wrong around a follower: each time a clear line, and following goes on."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.followed import EXPLAIN, HEALTHY, ROOT, await_that
from tests.torture import await_open, failure

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="watches processes through /proc")


class Troubled:
    """A follower of `server.log` whose output, errors and limits a test chooses."""

    def __init__(self, folder: Path) -> None:
        self.log, self.out, self.err = folder / "server.log", folder / "out.txt", folder / "err.txt"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str, out: Path | None = None, patch: str = "", **others: object) -> None:
        command = [*EXPLAIN, "-f", *options, str(self.log)]
        if patch:
            call = f"{patch}\nimport explain.cli, sys\nexplain.cli.main(sys.argv[1:])"
            command = [sys.executable, "-c", call, *command[3:]]
        with (out or self.out).open("ab") as output, self.err.open("ab") as errors:
            self.process = subprocess.Popen(command, stdout=output, stderr=errors, cwd=ROOT, **others)  # type: ignore[call-overload]
        if self.log.exists():
            await_open(self.process.pid, self.log)

    def add(self, data: bytes) -> None:
        with self.log.open("ab") as file:
            file.write(data)

    def told(self, number: int) -> None:
        name = "".join(chr(97 + number // 26**place % 26) for place in range(4))
        await_that(lambda: "yes" if name in self.out.read_text() else "", f"planted failure {name}")

    def said(self, words: str, seconds: float = 30.0) -> None:
        await_that(lambda: "yes" if words in self.err.read_text() else "", f"{words!r} on standard error", seconds)

    def lines(self) -> list[str]:
        return self.err.read_text().splitlines()

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Troubled]:
    troubled = Troubled(tmp_path)
    troubled.log.write_bytes(b"")
    yield troubled
    if troubled.process is not None and troubled.process.poll() is None:
        troubled.process.kill()
        troubled.process.wait()


def test_a_file_that_is_not_there_yet(one: Troubled) -> None:
    one.log.unlink()
    one.start()
    one.said("is not there yet; following waits for it")
    one.add(failure(1, 0) + HEALTHY)
    one.told(1)
    assert [line.rpartition(": ")[2] for line in one.lines()] == [
        "is not there yet; following waits for it",
        "is there; following goes on",
    ]


def test_a_file_that_vanishes(one: Troubled) -> None:
    one.start(patch="import explain.follow\nexplain.follow.GONE_SECONDS = 0.5")
    one.add(failure(1, 0) + HEALTHY)
    one.told(1)
    one.log.unlink()
    one.said("server.log: is gone; following waits for it")
    one.add(failure(2, 0) + HEALTHY)
    one.told(2)
    one.said("server.log: is there; following goes on")
    assert len(one.lines()) == 2 and one.stop() == 0


def obey_permissions() -> None:
    """Root may read everything unless it gives up two capabilities: PR_CAPBSET_DROP, CAP_DAC_*."""
    if os.geteuid() == 0:
        for capability in (1, 2):
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def test_permission_lost_and_regained(one: Troubled, tmp_path: Path) -> None:
    one.start(preexec_fn=obey_permissions)
    one.add(failure(1, 0) + HEALTHY)
    one.told(1)
    one.log.rename(tmp_path / "server.log.1")
    one.log.touch()
    with one.log.open("ab") as writer:
        one.log.chmod(0)
        writer.write(failure(2, 0) + HEALTHY)
    one.said("server.log: cannot be read: permission denied; following waits for it")
    one.log.chmod(0o644)
    one.told(2)
    one.said("server.log: is readable again; following goes on")
    assert len(one.lines()) == 2


def test_a_full_disk_for_the_state(one: Troubled, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    # No file may grow: the output is a pipe here, as beside a log shipper.
    reading, writing = os.pipe()
    one.process = subprocess.Popen(
        [*EXPLAIN, "-f", "--state", str(state), str(one.log)],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)),
    )
    os.close(writing)
    await_open(one.process.pid, one.log)
    one.add(failure(1, 0) + HEALTHY)
    text = b""
    while b"planted failure baaa" not in text:
        text += os.read(reading, 65536)
    time.sleep(1.5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["server.log"]
    resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await_that(lambda: "yes" if state.exists() else "", "the state, when there is room again")
    one.process.send_signal(signal.SIGINT)
    _, errors = one.process.communicate(timeout=30)
    os.close(reading)
    (line,) = errors.decode().splitlines()
    assert line.endswith("state.json: cannot be written: file too large; following goes on without it")


def test_a_full_disk_for_the_output(one: Troubled, tmp_path: Path) -> None:
    metrics = tmp_path / "sglang.prom"
    one.start("--metrics", str(metrics), out=Path("/dev/full"))
    for number in (1, 2):
        one.add(failure(number, 0) + HEALTHY)
        await_that(lambda: "yes" if number == 1 or "} 2" in counted(metrics) else "", "both in the metrics")  # noqa: B023
    one.said("output: cannot be written: no space left on device; following goes on")
    assert one.stop() == 0
    assert sum("output: cannot be written" in line for line in one.lines()) == 1
    assert "Exception ignored" not in one.err.read_text()


def counted(metrics: Path) -> str:
    if not metrics.exists():
        return ""
    total = sum(int(line.rpartition(" ")[2]) for line in metrics.read_text().splitlines() if "events_total{" in line)
    return f"}} {total}"


def test_events_go_on_in_a_line_of_their_own_after_the_disk_was_full(one: Troubled) -> None:
    events = one.out
    one.start("--format", "jsonl", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (900, 1 << 30)))
    for number in (1, 2, 3):
        one.add(failure(number, 0) + HEALTHY)
        time.sleep(0.7)
    one.said("output: cannot be written: file too large; following goes on")
    assert one.process is not None
    resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    one.add(failure(4, 0) + HEALTHY)
    one.told(4)
    *_, last = events.read_text().splitlines()
    assert json.loads(last)["message"] == "planted failure eaaa"


def test_what_we_write_ourselves_in_a_followed_folder_is_not_followed(one: Troubled, tmp_path: Path) -> None:
    events, state = tmp_path / "events.jsonl", tmp_path / "state.json"
    one.add(failure(1, 0) + HEALTHY)
    with events.open("ab") as output:
        command = [*EXPLAIN, "-f", "--from", "start", "--format", "jsonl", "--state", str(state), str(tmp_path)]
        one.process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, cwd=ROOT)
    await_that(lambda: "yes" if "planted failure" in events.read_text() else "", "the event")
    time.sleep(2.5)
    one.stop()
    event, last = [json.loads(line) for line in events.read_text().splitlines()]
    assert event["source"] == str(one.log) and [source["path"] for source in last["sources"]] == [str(one.log)]


HANGING = "import explain.hooks\nexplain.hooks.COMMAND_SECONDS = 1.0"


def test_a_command_that_hangs_is_ended_with_what_it_started(one: Troubled, tmp_path: Path) -> None:
    started = tmp_path / "started"
    one.start("--on-finding", f"sh -c 'sleep 600 & echo $! > {started}; wait'", patch=HANGING)
    one.add(failure(1, 0) + HEALTHY)
    one.said("--on-finding: sh took more than 1 s and was ended")
    child = int(started.read_text())
    await_that(lambda: "" if alive(child) else "gone", "the end of what the command started")
    one.add(failure(2, 0) + HEALTHY)
    one.told(2)


def test_a_command_that_leaves_a_process_behind_has_ended(one: Troubled, tmp_path: Path) -> None:
    started = tmp_path / "started"
    one.start("--on-finding", f"sh -c 'sleep 600 & echo $! >> {started}'", patch=HANGING)
    one.add(failure(1, 0) + failure(2, 0) + HEALTHY)
    text = await_that(
        lambda: started.read_text() if started.exists() and started.read_text().count("\n") == 2 else "",
        "the second command",
    )
    assert one.lines() == []
    for child in text.split():
        os.kill(int(child), signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_command_that_fails_says_why(one: Troubled) -> None:
    one.start("--on-finding", "sh -c 'echo no route to pager >&2; exit 3'")
    one.add(failure(1, 0) + HEALTHY)
    one.said("--on-finding: sh ended with 3: no route to pager")
    one.add(failure(2, 0) + HEALTHY)
    one.told(2)


def test_the_reader_of_the_log_goes_away_and_explaining_goes_on(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with errors.open("wb") as target:
        process = subprocess.Popen(
            [*EXPLAIN, "--tee", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=target, cwd=ROOT
        )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(HEALTHY)
    process.stdin.flush()
    assert process.stdout.readline() == HEALTHY
    process.stdout.close()
    process.stdin.write(HEALTHY * 100 + failure(1, 0) + HEALTHY)
    process.stdin.close()
    assert process.wait(60) == 0
    assert "planted failure baaa" in errors.read_text()


# --------------------------------------------------------------------------- run, and what is left when it ends


def test_a_pager_that_pauses_after_the_end_loses_nothing(tmp_path: Path) -> None:
    """Longer than output is awaited from processes that the command left behind."""
    theirs = f"import os\nos.write(1, {HEALTHY!r} * 1200 + {failure(1, 0)!r})\nos._exit(3)"
    errors = tmp_path / "errors"
    with errors.open("wb") as target:
        process = subprocess.Popen(
            [*EXPLAIN, "run", "--", sys.executable, "-c", theirs], stdout=subprocess.PIPE, stderr=target, cwd=ROOT
        )
    assert process.stdout is not None
    got = process.stdout.read(1000)
    time.sleep(6.0)
    got += process.stdout.read()
    assert got == HEALTHY * 1200 + failure(1, 0)
    assert process.wait(30) == 3 and "first cause: RuntimeError: planted failure baaa" in errors.read_text()


@pytest.mark.parametrize("talks", [False, True])
def test_run_ends_although_a_process_that_was_left_behind_holds_the_output(tmp_path: Path, talks: bool) -> None:
    left = tmp_path / "left"
    loop = "while sleep 0.2; do echo still here; done" if talks else "sleep 60"
    command = [*EXPLAIN, "run", "--", "sh", "-c", f"({loop}) & echo $! > {left}; exit 4"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)
    assert process.stdout is not None
    try:
        assert process.wait(40) == 4
        assert (b"still here" in process.stdout.read1()) == talks
    finally:
        os.killpg(os.getpgid(int(left.read_text())), signal.SIGKILL)


def test_a_signal_ends_the_wait_for_a_reader_that_never_comes_back() -> None:
    theirs = f"import os\nos.write(1, {HEALTHY!r} * 1200)"
    process = subprocess.Popen(
        [*EXPLAIN, "run", "--", sys.executable, "-c", theirs],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    assert process.stdout is not None
    process.stdout.read(1000)
    time.sleep(5.0)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0


def test_a_signal_in_the_first_moment_reaches_the_command(tmp_path: Path) -> None:
    """The command may signal us before we have read a single record."""
    script = "import os, signal, sys, time; signal.signal(15, lambda *_: sys.exit(9)); os.kill(os.getppid(), 15); time.sleep(30)"
    done = subprocess.run(
        [*EXPLAIN, "run", "--", sys.executable, "-c", script], capture_output=True, cwd=ROOT, timeout=60, check=False
    )
    assert done.returncode == 9, shlex.join(done.args)
