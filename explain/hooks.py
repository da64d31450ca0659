"""What follows a finding besides the screen: a command, and a file of metrics."""

from __future__ import annotations

import os
import queue
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from explain.console import Complaints
from explain.live import Live
from explain.model import Finding, Problem, reason_of
from explain.render import plain, safe
from explain.state import write_whole

COMMAND_SECONDS = 30.0
BETWEEN_SECONDS = 1.0
"""Commands start at most so often: a storm of failures must not become a storm of processes."""
WAITING = 64
MOST_SAID = 4096
METRICS_SECONDS = 5.0


class OnFinding:
    """Runs a command for each new finding, its JSON on standard input, one at a time, never twice for one id.

    Nothing of the log is on the command line. A command that hangs is ended, one that fails is told.
    """

    def __init__(self, command: str, complain: Callable[[str], None]) -> None:
        self._command = shlex.split(command)
        if not self._command:
            raise ValueError("the command is empty")
        self._complain = complain
        self._done: set[str] = set()
        self._queue: queue.Queue[bytes | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._work, name="on-finding", daemon=True)
        self._thread.start()

    def run(self, finding: Finding) -> None:
        if finding.id in self._done:
            return
        self._done.add(finding.id)
        try:
            self._queue.put_nowait(plain.encode({"id": finding.id, **plain.finding(finding)}))
        except queue.Full:
            self._complain("--on-finding: too many findings wait for the command; one was left out")

    def _work(self) -> None:
        while (payload := self._queue.get()) is not None:
            started = time.monotonic()
            self._run_one(payload)
            time.sleep(max(BETWEEN_SECONDS - (time.monotonic() - started), 0.0))

    def _run_one(self, payload: bytes) -> None:
        name = self._command[0]
        with tempfile.TemporaryFile() as errors:
            # A file, and a group of its own: a process that the command leaves behind holds nothing up, and
            # Ctrl-C in our terminal does not cut a message off.
            try:
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=os.name == "posix",
                )
            except OSError as error:
                self._complain(f"--on-finding: {name} cannot be started: {reason_of(error)}")
                return
            try:
                process.communicate(payload, COMMAND_SECONDS)
            except subprocess.TimeoutExpired:
                end_group(process)
                self._complain(f"--on-finding: {name} took more than {COMMAND_SECONDS:.0f} s and was ended")
                return
            if process.returncode:
                errors.seek(0)
                said = errors.read(MOST_SAID).decode("utf-8", "replace").strip().partition("\n")[0]
                self._complain(f"--on-finding: {name} ended with {process.returncode}" + (f": {said}" if said else ""))

    def close(self, seconds: float = COMMAND_SECONDS) -> None:
        """Waits for commands that are due, at most so long."""
        self._queue.put(None)
        self._thread.join(seconds)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process with all that it started in its group."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


class Metrics:
    """Keeps a file in Prometheus' text format, for the node exporter's textfile collector."""

    def __init__(self, path: Path, complain: Callable[[Problem], None]) -> None:
        self._path = path
        self._complaints = Complaints(complain)
        self._next = 0.0

    def write(self, run: Live, lag: int, now: float, *, force: bool = False) -> None:
        if now < self._next and not force:
            return
        self._next = now + METRICS_SECONDS
        self._complaints.hear(write_whole(self._path, metrics_text(run, lag).encode()))


def metrics_text(run: Live, lag: int) -> str:
    """The metrics of a run: findings by record, role and rank, lines, bytes, and bytes not read yet."""
    findings: Counter[tuple[str, str, str]] = Counter()
    for finding in run.explainer.findings():
        slug = finding.record.slug if finding.record else ""
        for rank, count in zip(finding.ranks, finding.rank_counts, strict=True):
            findings[(slug, finding.role, rank)] += count
        if without := finding.count - sum(finding.rank_counts):
            findings[(slug, finding.role, "")] += without
    lines = [
        "# HELP sglang_explain_events_total Events found, by record, role and rank.",
        "# TYPE sglang_explain_events_total counter",
    ]
    for (slug, role, rank), count in sorted(findings.items()):
        labels = ",".join(
            f'{name}="{_label(value)}"' for name, value in (("record", slug), ("role", role), ("rank", rank))
        )
        lines.append(f"sglang_explain_events_total{{{labels}}} {count}")
    for name, kind, words, value in (
        ("lines_total", "counter", "Lines read.", run.lines_read),
        ("bytes_total", "counter", "Bytes read.", run.bytes_read),
        ("lag_bytes", "gauge", "Bytes written to the logs and not read yet.", lag),
    ):
        lines += [
            f"# HELP sglang_explain_{name} {words}",
            f"# TYPE sglang_explain_{name} {kind}",
            f"sglang_explain_{name} {value}",
        ]
    return "\n".join(lines) + "\n"


def _label(value: str) -> str:
    return safe.line(value).replace("\\", "\\\\").replace('"', '\\"')
