"""`--follow`, `--tee` and `run` as real processes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explain.render.text import TIMES
from tests.followed import EXPLAIN, HEALTHY, READY, ROOT, Followed, await_that
from tests.torture import await_open, failure, torture

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="watches processes through /proc")


@pytest.mark.parametrize(
    ("seed", "kill", "form"), [(1, False, "terminal"), (2, True, "terminal"), (3, True, "terminal"), (4, True, "jsonl")]
)
def test_rotation_and_kills_lose_and_repeat_nothing(seed: int, kill: bool, form: str) -> None:
    assert torture(seed, kill=kill, seconds=2.0, form=form) == []


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Callable[..., Followed]]:
    started: list[Followed] = []

    def start(*options: str, log: bytes = b"") -> Followed:
        started.append(Followed(tmp_path, *options, start=log))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def test_block_count_recovery_and_summary(followed) -> None:  # type: ignore[no-untyped-def]
    one = followed()
    one.write(HEALTHY * 50)
    time.sleep(0.5)
    assert one.text() == ""
    one.write(failure(1, 0) + HEALTHY)
    one.await_text("planted failure baaa")
    one.write((failure(1, 0) + HEALTHY) * 20 + READY)
    text = one.await_text("The server is back")
    assert text.count("CAUSE") == 1
    assert one.stop() == 0
    assert one.text().count("CAUSE") == 2 and "21 times" in one.text()


def test_a_failure_that_happened_before_is_told_and_a_healthy_past_is_not(followed) -> None:  # type: ignore[no-untyped-def]
    launch = b"[2026-11-30 08:00:00] server_args=ServerArgs(model_path='/models/tiny', tp_size=1)\n"
    one = followed(log=launch + failure(3, 0) + launch + READY + failure(4, 0) + HEALTHY)
    text = one.await_text("planted failure eaaa")
    assert "planted failure daaa" not in text


def test_lines_back(followed) -> None:  # type: ignore[no-untyped-def]
    one = followed("--from", "7", log=failure(3, 0) + HEALTHY * 3 + failure(4, 0) + HEALTHY)
    assert "planted failure daaa" not in one.await_text("planted failure eaaa")


def test_jsonl_events_as_they_happen(followed) -> None:  # type: ignore[no-untyped-def]
    from tests.contract import check_jsonl_line

    one = followed("--format", "jsonl")
    one.write(failure(1, 0) + HEALTHY)
    one.await_text("planted failure")
    assert one.stop() == 0
    lines = [json.loads(line) for line in one.text().splitlines()]
    for line in lines:
        check_jsonl_line(line)
    assert [line["type"] for line in lines] == ["event", "summary"]


def test_command_runs_once_for_a_finding(followed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    script = tmp_path / "hook.py"
    target = tmp_path / "got.txt"
    script.write_text(
        f"import sys\nopen({str(target)!r}, 'a').write(sys.stdin.read() + '\\n')\nassert len(sys.argv) == 1\n"
    )
    one = followed("--on-finding", f"{sys.executable} {script}")
    one.write((failure(1, 0) + HEALTHY) * 3)
    await_that(lambda: target.read_text() if target.exists() else "", "the command's output")
    one.write((failure(1, 0) + HEALTHY) * 3)
    time.sleep(2.5)
    one.stop()
    (payload,) = [json.loads(line) for line in target.read_text().splitlines() if line.strip()]
    assert payload["role"] == "cause" and "planted failure" in payload["message"] and len(payload["id"]) == 16


@pytest.mark.parametrize("command", ["false", "nosuch-command-here"])
def test_a_command_that_fails_is_told_and_following_goes_on(followed, command: str) -> None:  # type: ignore[no-untyped-def]
    one = followed("--on-finding", command)
    one.write(failure(1, 0) + HEALTHY)
    await_that(lambda: one.err.read_text(), "a complaint")
    one.write(failure(2, 0) + HEALTHY)
    one.await_text("planted failure caaa")
    assert "Traceback" not in one.err.read_text()


def test_metrics_file(followed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    target = tmp_path / "sglang.prom"
    one = followed("--metrics", str(target))
    one.write((failure(1, 0) + failure(1, 3)) * 2 + HEALTHY)
    one.await_text("planted failure")
    one.stop()
    text = target.read_text()
    assert 'sglang_explain_events_total{record="",role="cause",rank="TP0"} 2' in text
    assert 'sglang_explain_events_total{record="",role="cause",rank="TP3"} 2' in text
    for line in text.splitlines():
        assert line.startswith("#") or len(line.rsplit(" ", 1)) == 2


def test_a_state_that_cannot_be_written_is_told_once(followed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    one = followed("--state", str(tmp_path / "missing" / "state.json"))
    one.write(failure(1, 0) + HEALTHY)
    one.await_text("planted failure")
    time.sleep(1.2)
    assert one.err.read_text().count("cannot be written") == 1


def test_the_state_of_a_quiet_log_is_written_once(followed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    state = tmp_path / "kept" / "state.json"
    state.parent.mkdir()
    one = followed("--state", str(state))
    one.write(failure(1, 0) + HEALTHY)
    one.await_text("planted failure")
    time.sleep(2.0)
    before = state.stat().st_ino, state.stat().st_mtime_ns
    time.sleep(2.0)
    assert (state.stat().st_ino, state.stat().st_mtime_ns) == before
    one.write(HEALTHY)
    await_that(lambda: "yes" if state.stat().st_mtime_ns != before[1] else "", "a new state")


def test_a_reader_that_goes_away_ends_quietly(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"")
    process = subprocess.Popen([*EXPLAIN, "-f", str(log)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    await_open(process.pid, log)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    with log.open("ab") as file:
        file.write(failure(1, 0) + HEALTHY)
    assert process.wait(30) == 0
    assert process.stderr.read() == b""


def test_a_reader_that_goes_away_does_not_stop_the_metrics(tmp_path: Path) -> None:
    log, target = tmp_path / "server.log", tmp_path / "sglang.prom"
    log.write_bytes(b"")
    command = [*EXPLAIN, "-f", "--metrics", str(target), str(log)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    await_open(process.pid, log)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    with log.open("ab") as file:
        file.write(failure(1, 0) + HEALTHY)
    await_that(
        lambda: "yes" if target.exists() and 'rank="TP0"} 1' in target.read_text() else "", "the failure in the metrics"
    )
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert b"its reader went away" in process.stderr.read()


# --------------------------------------------------------------------------- pipes and commands


def test_tee_passes_every_byte(tmp_path: Path) -> None:
    data = HEALTHY * 100 + failure(1, 0) + b"no line end, and bytes: \xff\xfe\x00"
    done = subprocess.run([*EXPLAIN, "--tee", "-"], input=data, capture_output=True, cwd=ROOT, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, data)
    assert b"planted failure baaa" in done.stderr


def run(script: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*EXPLAIN, "run", "--", sys.executable, "-c", script],
        capture_output=True,
        cwd=ROOT,
        timeout=90,
        check=False,
    )


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("print('hello')", 0, "ended with 0 (a normal end)"),
        ("raise SystemExit(3)", 3, "ended with 3"),
        ("raise SystemExit(2)", 2, "most often an unknown or invalid flag"),
        ("import os; os.kill(os.getpid(), 9)", 137, "SIGKILL"),
        ("import os; os.kill(os.getpid(), 11)", 139, "SIGSEGV"),
        ("import os; os.abort()", 134, "SIGABRT"),
    ],
)
def test_run_keeps_the_exit_status_and_says_what_it_means(script: str, status: int, words: str) -> None:
    done = run(script)
    assert done.returncode == status
    assert words in done.stderr.decode()
    assert done.stdout == (b"hello\n" if status == 0 else b"")


def test_run_names_the_cause_and_does_not_take_a_kill_for_the_oom_killer() -> None:
    text = failure(1, 0).decode()
    done = run(f"import os, sys; sys.stderr.write({text!r}); sys.stderr.flush(); os.kill(os.getpid(), 9)")
    assert done.returncode == 137
    last = done.stderr.decode().splitlines()[-1]
    assert "no sign of the OOM killer" in last and "planted failure baaa" in last


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1"])
def test_run_passes_signals_on(tmp_path: Path, name: str) -> None:
    ready = tmp_path / "ready"
    script = (
        "import signal, sys, time\n"
        f"signal.signal(signal.{name}, lambda *_: sys.exit(7))\n"
        f"open({str(ready)!r}, 'w').close()\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [*EXPLAIN, "run", "--", sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    await_that(lambda: "yes" if ready.exists() else "", "the command's start")
    process.send_signal(getattr(signal, name))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 7
    assert name in errors.decode()


@pytest.mark.parametrize(("command", "status"), [("nosuch-command-here", 127), (str(ROOT / "README.md"), 126)])
def test_a_command_that_cannot_be_started(command: str, status: int) -> None:
    done = subprocess.run([*EXPLAIN, "run", "--", command], capture_output=True, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == status
    assert len(done.stderr.decode().splitlines()) == 1 and "cannot be started" in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--follow", "--format", "json", "x.log"], "with --follow choose from"),
        (["--follow", "--from", "middle", "x.log"], "choose start, end or a number"),
        (["--tee", "x.log"], "add - as the source"),
        (["--tee", "--output", "x.json", "-"], "--output: does not go with --tee"),
        (["--follow", "--fail-on", "error", "x.log"], "--fail-on: does not go with --follow"),
        (["--state", "s.json", "x.log"], "goes with --follow"),
    ],
)
def test_usage_is_explained_in_one_line(arguments: list[str], words: str) -> None:
    done = subprocess.run(
        [*EXPLAIN, *arguments],
        capture_output=True,
        cwd=ROOT,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
    assert words in done.stderr.decode() and len(done.stderr.decode().splitlines()) == 1


def test_idle_following_costs_next_to_nothing(followed) -> None:  # type: ignore[no-untyped-def]
    """Processor time, not wall time: far below a tenth of a core even on a busy machine."""
    one = followed(log=HEALTHY)
    time.sleep(1.0)

    def used() -> float:
        fields = Path(f"/proc/{one.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = used()
    time.sleep(4.0)
    assert used() - before < 0.4


# --------------------------------------------------------------------------- terminals, jobs, readers


def test_a_follower_under_nohup_survives_the_end_of_its_terminal(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"")
    process = subprocess.Popen(
        [*EXPLAIN, "-f", str(log)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    await_open(process.pid, log)
    process.send_signal(signal.SIGHUP)
    with log.open("ab") as file:
        file.write(failure(1, 0) + HEALTHY)
    time.sleep(1.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert b"planted failure baaa" in process.communicate(timeout=30)[0]


def test_a_quiet_follower_notices_that_its_reader_left(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(HEALTHY)
    process = subprocess.Popen([*EXPLAIN, "-f", str(log)], stdout=subprocess.PIPE, cwd=ROOT)
    await_open(process.pid, log)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(20) == 0


def test_run_keeps_the_order_of_both_streams_where_they_end_in_one_place() -> None:
    script = "import os\nfor n in range(300): os.write(1 + n % 2, b'%d\\n' % n)"
    done = subprocess.run(
        [*EXPLAIN, "run", "--", sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines()[:300] == [b"%d" % number for number in range(300)]


def test_run_lets_the_command_go_on_when_nobody_reads_its_output(tmp_path: Path) -> None:
    end = tmp_path / "end"
    script = (
        f"import os\nos.write(2, {failure(1, 0) + HEALTHY!r})\n"
        f"for _ in range(3000): os.write(1, {HEALTHY!r} * 100)\n"
        f"open({str(end)!r}, 'w').close()"
    )
    process = subprocess.Popen(
        [*EXPLAIN, "run", "--", sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 0 and end.exists()


def test_run_waits_for_a_slow_reader_that_made_the_pipe_non_blocking() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    size = 2_000_000
    process = subprocess.Popen(
        [*EXPLAIN, "run", "--", sys.executable, "-c", f"import os; os.write(1, b'x' * {size})"],
        stdout=writing,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    os.close(writing)
    time.sleep(1.5)
    with os.fdopen(reading, "rb") as stream:
        assert len(stream.read()) == size
    assert process.wait(30) == 0


def test_an_error_of_ours_does_not_touch_the_command() -> None:
    ours = (
        "import explain.live, explain.cli, sys\n"
        "def fail(*_): raise ZeroDivisionError('planted')\n"
        "explain.live.Live.feed = fail\n"
        "explain.cli.main(['run', '--', sys.executable, '-c', sys.argv[1]])"
    )
    theirs = f"import os\nfor _ in range(3000): os.write(1, {HEALTHY!r} * 100)\nraise SystemExit(7)"
    done = subprocess.run([sys.executable, "-c", ours, theirs], capture_output=True, cwd=ROOT, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (7, HEALTHY * 300_000)
    assert b"internal error: ZeroDivisionError: planted" in done.stderr and b"Traceback" not in done.stderr


def test_after_an_error_of_ours_a_slow_reader_gets_the_rest_too() -> None:
    ours = (
        "import explain.live, explain.cli, sys\n"
        "def fail(*_): raise ZeroDivisionError('planted')\n"
        "explain.live.Live.feed = fail\n"
        "explain.cli.main(['run', '--', sys.executable, '-c', sys.argv[1]])"
    )
    theirs = f"import os\nos.write(1, {HEALTHY!r} * 2000)"
    with subprocess.Popen(
        [sys.executable, "-c", ours, theirs], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        time.sleep(1.5)  # the command has ended, its last lines wait for us to read
        assert process.stdout.read() == HEALTHY * 2000


def test_pausing_run_pauses_the_command(tmp_path: Path) -> None:
    ticks = tmp_path / "ticks"
    script = f"import time\nfor _ in range(600): open({str(ticks)!r}, 'a').write('.'); time.sleep(0.05)"
    process = subprocess.Popen([*EXPLAIN, "run", "--", sys.executable, "-c", script], cwd=ROOT)
    try:
        await_that(lambda: "yes" if ticks.exists() else "", "the command's start")
        process.send_signal(signal.SIGTSTP)
        time.sleep(1.0)
        before = ticks.stat().st_size
        time.sleep(0.5)
        assert ticks.stat().st_size == before
        process.send_signal(signal.SIGCONT)
        await_that(lambda: "yes" if ticks.stat().st_size > before else "", "the command going on")
    finally:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143


def on_terminal(arguments: list[str], **options: object) -> bytes:
    """What a command writes to its terminal until it ends."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(arguments, stderr=theirs, cwd=ROOT, **options)  # type: ignore[call-overload]
    os.close(theirs)
    pieces = []
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65536):
            pieces.append(piece)
    os.close(ours)
    process.wait(30)
    return b"".join(pieces)


def test_run_does_not_rewrite_lines_of_a_terminal_that_shows_the_log_too() -> None:
    script = (
        "import os, time\n"
        f"for _ in range(3): os.write(2, {failure(1, 0) + HEALTHY!r} + b'loading 10%'); time.sleep(0.4)"
    )
    shown = on_terminal([*EXPLAIN, "run", "--", sys.executable, "-c", script], stdout=subprocess.DEVNULL)
    assert shown.count(TIMES.encode()) >= 1 and b"\x1b[K" not in shown
    assert b"loading 10%  " not in shown


def test_tee_colours_a_terminal_although_the_log_goes_to_a_file(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    (tmp_path / "log").write_bytes(failure(1, 0) + HEALTHY)
    with (tmp_path / "log").open("rb") as log:
        shown = on_terminal([*EXPLAIN, "--tee", "-"], stdin=log, stdout=subprocess.DEVNULL, env=environment)
    assert b"\x1b[31m" in shown


def test_a_failure_at_the_very_end_is_printed_once() -> None:
    done = run(f"import os; os.write(2, {failure(1, 0)!r}); os._exit(1)")
    assert done.stderr.decode().count("CAUSE") == 1


def test_a_folder_without_logs_is_told(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*EXPLAIN, "-f", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert process.stderr is not None
    assert b"holds no log yet; following waits for one" in process.stderr.readline()
    (tmp_path / "server.log").write_bytes(failure(1, 0) + HEALTHY)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    assert b"planted failure baaa" in process.communicate(timeout=30)[0]


def test_run_says_how_to_end_a_server_that_does_not_stop(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    ours = (
        "import explain.child, explain.cli, sys\n"
        "explain.child.PATIENCE_SECONDS = 0.5\n"
        "explain.cli.main(['run', '--', sys.executable, '-c', sys.argv[1]])"
    )
    theirs = (
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(ready)!r}, 'w').close()\ntime.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", ours, theirs], stderr=subprocess.PIPE, cwd=ROOT)
    await_that(lambda: "yes" if ready.exists() else "", "the command's start")
    process.send_signal(signal.SIGTERM)
    time.sleep(1.5)
    process.send_signal(signal.SIGQUIT)
    _, errors = process.communicate(timeout=30)
    assert b"0 s after SIGTERM; a server that hangs is ended" in errors
    assert process.returncode == 131


@pytest.mark.parametrize("options", [["--follow", "-"], ["--follow"], ["--tee", "-"], ["-f", "--format", "jsonl", "-"]])
def test_a_pipe_is_explained_as_it_arrives(options: list[str]) -> None:
    """Nothing waits for a full block or for the end: a quiet server's last line counts."""
    process = subprocess.Popen(
        [*EXPLAIN, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(HEALTHY + failure(1, 0).rstrip(b"\n") + b"\n")
    process.stdin.flush()
    text = b""
    while (b"RuntimeError: planted" if "jsonl" not in options else b'"planted failure baaa"') not in text:
        text += process.stdout.readline()
    process.stdin.close()
    process.stdout.read()
    assert process.wait(30) == 0
