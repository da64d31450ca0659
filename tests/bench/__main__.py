"""Runs us and the peers in turns on generated logs and prints ratios with their spread."""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench import inputs, slow

HERE = Path(__file__).resolve().parent


@dataclass
class Row:
    """Seconds of one command on one input, one value a run."""

    name: str
    seconds: list[float] = field(default_factory=list)
    peak: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def literals() -> list[bytes]:
    """One literal a record and template, as our scanner looks for them."""
    from explain.catalogue import Catalogue
    from explain.scanner import unique_literals
    from explain.sites import SiteIndex

    found, _ = unique_literals([("record", Catalogue.load().needles()), ("site", SiteIndex.load().needles())])
    return [literal for literal, _ in found]


OURS = [sys.executable, "-m", "explain"]


def commands(log: Path, needles: Path, ours: list[str]) -> dict[str, list[str]]:
    """Peers by name; those that are not installed are named by `missing`."""
    every = {
        "sglang-explain": [*ours, "--format", "json", str(log)],
        "bare hyperscan": [sys.executable, "-m", "tests.bench.bare", str(needles), str(log)],
        "rg -c -F -f": ["rg", "-c", "-F", "-f", str(needles), str(log)],
        "grep -c -F -f": ["grep", "-c", "-F", "-f", str(needles), str(log)],
        "wc -l": ["wc", "-l", str(log)],
        "lnav, one filter": ["lnav", "-n", "-c", ":filter-in Scheduler hit an exception", str(log)],
    }
    return {name: command for name, command in every.items() if Path(command[0]).exists() or shutil.which(command[0])}


def missing() -> list[str]:
    tools = [name for name in ("rg", "grep", "lnav", "wc") if not shutil.which(name)]
    return tools + [name for name in slow.PEERS if name not in slow.installed()]


def run_once(command: list[str], limit: float) -> tuple[float, int]:
    """(seconds, peak resident kilobytes) of one whole process; more than `limit` counts as `limit`.

    Waits without looking up: on two cores a waiting loop would take its share from who uses both.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=HERE.parent.parent)
    timer = threading.Timer(limit, process.kill)
    timer.start()
    _, _, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    timer.cancel()
    process.returncode = 0
    return seconds, usage.ru_maxrss


SHARE = 100_000
"""Bytes that the slowest peers read; their time is that of the whole log if it went on like this."""


def scaled(name: str, log: Path) -> float:
    command = [sys.executable, "-m", "tests.bench.slow", name, str(log), str(SHARE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE.parent.parent)
    return float(done.stdout) * log.stat().st_size / min(SHARE, log.stat().st_size)


def measure(log: Path, needles: Path, ours: list[str], runs: int, limit: float, skip: set[str]) -> list[Row]:
    peers = commands(log, needles, ours)
    rows = {name: Row(name) for name in peers if name not in skip}
    for _ in range(runs):
        for name, row in rows.items():
            seconds, peak = run_once(peers[name], limit)
            row.seconds.append(seconds)
            row.peak = max(row.peak, peak)
    estimates = [
        Row(f"{name}, by {SHARE // 1000} KB", [scaled(name, log)]) for name in slow.installed() if name not in skip
    ]
    return [*rows.values(), *estimates]


def table(title: str, size: int, lines: int, rows: list[Row]) -> str:
    own = rows[0].median
    text = [
        f"\n### {title} ({size / 1e6:.0f} MB, {lines:,} lines)\n",
        "| command | s (min, median, max) | MB/s | we are | peak MB |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        ratio = "" if row is rows[0] else f"{row.median / own:.2f}x"
        text.append(
            f"| {row.name} | {min(row.seconds):.2f} {row.median:.2f} {max(row.seconds):.2f} | {size / 1e6 / row.median:.1f} | {ratio} | {row.peak // 1024} |"
        )
    return "\n".join(text)


def plans(size: int, needles: list[bytes]) -> dict[str, Callable[[Path], None]]:
    """Inputs by name, each a function that writes it."""

    def serving(carrier: Callable[[Iterator[str]], Iterator[str]]) -> Callable[[Path], None]:
        def make(path: Path) -> None:
            planted = "".join(line + "\n" for line in carrier(iter(inputs.PLANTED.splitlines())))
            inputs.write(path, size, carrier(inputs.serving_lines(random.Random(1))), planted)

        return make

    def dense(lines: Callable[[random.Random], Iterator[str]], share: int) -> Callable[[Path], None]:
        return lambda path: inputs.write(path, max(size // share, 1_000_000), lines(random.Random(2)))

    return {
        "ordinary": serving(inputs.plain),
        "ordinary, docker json": serving(inputs.docker_json),
        "ordinary, CRI": serving(inputs.cri),
        "ordinary, Ray": serving(inputs.ray),
        "start-up with progress bars": dense(inputs.start_up, 4),
        "every line a known warning": dense(inputs.known_warnings, 20),
        "every event a different traceback": dense(inputs.different_tracebacks, 20),
        "near-missed templates": dense(inputs.near_misses(needles), 20),
        "one line": lambda path: inputs.write_one_line(path, size),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--size", type=int, default=1000, help="megabytes of the large inputs (default 1000)")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--program", type=Path, help="an installed sglang-explain to run, not this checkout's")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds after which a command is stopped")
    parser.add_argument("--only", action="append", help="inputs by name; all where none is given")
    parser.add_argument("--skip", action="append", default=[], help="peers to leave out")
    chosen = parser.parse_args()
    ours = [str(chosen.program.absolute())] if chosen.program else OURS
    found = literals()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; {len(found):,} literals")
    if missing():
        print("not installed here, so not compared: " + ", ".join(missing()))
    with tempfile.TemporaryDirectory() as folder:
        needles = Path(folder) / "literals.txt"
        needles.write_bytes(b"\n".join(found) + b"\n")
        for name, write in plans(chosen.size * 1_000_000, found).items():
            if chosen.only and name not in chosen.only:
                continue
            log = Path(folder) / "server.log"
            write(log)
            size = log.stat().st_size
            with log.open("rb") as file:
                lines = sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))
            print(
                table(name, size, lines, measure(log, needles, ours, chosen.runs, chosen.limit, set(chosen.skip))),
                flush=True,
            )


if __name__ == "__main__":
    main()
