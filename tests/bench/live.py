"""How fast `--follow` tells, how it catches up, and what it costs while nothing happens.

`python -m tests.bench.live` prints the figures and draws `memory.svg` and `latency.svg` into `--plots FOLDER`
(`tests/bench/plots` holds the last ones). Seconds of a processor are given beside those of the clock: they hold on
a machine with other work, too.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import inputs
from tests.torture import await_open, code, failure

ROOT = Path(__file__).resolve().parent.parent.parent
WIDTH, HEIGHT = 640, 240


class Follower:
    """A follower with jsonl output; `seen` maps a planted code to the time its event arrived."""

    def __init__(self, log: Path, *options: str) -> None:
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            [sys.executable, "-m", "explain", "-f", "--format", "jsonl", *options, str(log)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        self.seen: dict[str, float] = {}
        threading.Thread(target=self._read, daemon=True).start()
        await_open(self.process.pid, log)
        time.sleep(0.5)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if b"planted failure" in line:
                self.seen.setdefault(line.partition(b"planted failure ")[2][:4].decode(), time.perf_counter())

    def await_code(self, wanted: str, seconds: float) -> float:
        end = time.monotonic() + seconds
        while wanted not in self.seen:
            if time.monotonic() > end:
                raise TimeoutError(f"{wanted} was not told in {seconds} s")
            time.sleep(0.002)
        return self.seen[wanted]

    @property
    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def resident_megabytes(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def latency(log: Path, planted: int, rate: int) -> list[float]:
    """Milliseconds from the write of the line that closes a failure to its event, `rate` lines a second around."""
    log.write_bytes(b"")
    follower = Follower(log)
    lines = inputs.serving_lines(random.Random(3))
    written: dict[str, float] = {}
    with log.open("ab", buffering=0) as file:
        for number in range(planted):
            for _ in range(rate // 10):
                file.write(next(lines).encode() + b"\n")
                time.sleep(0.8 / rate)
            file.write(failure(number, number % 8) + next(lines).encode() + b"\n")
            written[code(number)] = time.perf_counter()
        found = [1000 * (follower.await_code(name, 20.0) - at) for name, at in written.items()]
    follower.stop()
    return found


@dataclass(frozen=True, slots=True)
class Cost:
    """What reading took, by the clock and of a processor."""

    seconds: float
    processor: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s ({self.processor:.2f} s of a processor)"


def burst(log: Path, megabytes: int) -> tuple[Cost, Cost]:
    """To catch up with a burst while following; to read the same bytes at once."""
    piece = log.with_suffix(".piece")
    inputs.write(piece, megabytes * 1_000_000, inputs.serving_lines(random.Random(4)))
    data = piece.read_bytes() + failure(7, 0) + b"[2026-11-30 08:15:41] done\n"
    log.write_bytes(b"")
    follower = Follower(log)
    before, start = follower.cpu_seconds, time.perf_counter()
    with log.open("ab", buffering=0) as file:
        for position in range(0, len(data), 1 << 22):
            file.write(data[position : position + (1 << 22)])
    live = Cost(follower.await_code(code(7), 600.0) - start, follower.cpu_seconds - before)
    follower.stop()
    used, start = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "explain", "--format", "json", str(log)], stdout=subprocess.DEVNULL, cwd=ROOT, check=True
    )
    end = os.times()
    processor = end.children_user + end.children_system - used.children_user - used.children_system
    return live, Cost(time.perf_counter() - start, processor)


def memory(log: Path, million_lines: int) -> list[tuple[float, float]]:
    """(million lines, resident megabytes) while lines arrive as fast as they can be written."""
    log.write_bytes(b"")
    follower = Follower(log)
    dice = random.Random(5)
    lines = inputs.serving_lines(dice)
    unit = "".join(next(lines) + "\n" for _ in range(50_000)).encode()
    samples: list[tuple[float, float]] = []
    for part in range(million_lines * 20):
        with log.open("r+b") as file:  # rotated by truncation, so that the disk holds
            if part % 20 == 0:
                file.truncate(0)
            file.seek(0, os.SEEK_END)
            file.write(unit + failure(part, 0) + b"[2026-11-30 08:15:41] next\n")
        samples.append((part / 20, follower.resident_megabytes))
        follower.await_code(code(part), 120.0)
    follower.stop()
    return samples


def idle(log: Path, seconds: float) -> float:
    """Share of one core that a follower takes while nothing is written."""
    log.write_bytes(b"[2026-11-30 08:15:41] quiet\n")
    follower = Follower(log)
    time.sleep(2.0)
    before = follower.cpu_seconds
    time.sleep(seconds)
    used = follower.cpu_seconds - before
    follower.stop()
    return used / seconds


def svg(points: Sequence[tuple[float, float]], title: str, x_name: str, y_name: str) -> str:
    """A line plot."""
    width, height, margin = WIDTH, HEIGHT, 40
    most_x = max((x for x, _ in points), default=1.0) or 1.0
    most_y = 1.1 * max((y for _, y in points), default=1.0) or 1.0
    line = " ".join(
        f"{margin + x / most_x * (width - 2 * margin):.1f},{height - margin - y / most_y * (height - 2 * margin):.1f}"
        for x, y in points
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">'
        f'<rect width="{width}" height="{height}" fill="white"/><text x="{margin}" y="18">{title}</text>'
        f'<path d="M{margin},{margin - 10} V{height - margin} H{width - margin}" stroke="black" fill="none"/>'
        f'<polyline points="{line}" fill="none" stroke="#1f5fa8"/>'
        f'<text x="{width - margin}" y="{height - 12}" text-anchor="end">{x_name}, up to {most_x:g}</text>'
        f'<text x="{margin + 4}" y="{margin - 2}">{y_name}, up to {most_y:.0f}</text></svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.live")
    parser.add_argument("--planted", type=int, default=200)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--burst", type=int, default=500, help="megabytes")
    parser.add_argument("--lines", type=int, default=10, help="million lines of the memory run")
    parser.add_argument("--idle", type=float, default=20.0)
    parser.add_argument("--plots", type=Path)
    chosen: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        print(f"idle: {100 * idle(log, chosen.idle):.2f} % of a core", flush=True)
        delays = sorted(latency(log, chosen.planted, chosen.rate))
        share = delays[min(int(0.99 * len(delays)), len(delays) - 1)]
        print(
            f"latency at {chosen.rate} lines/s: median {statistics.median(delays):.0f} ms, 99 % {share:.0f} ms",
            flush=True,
        )
        live, batch = burst(log, chosen.burst)
        print(
            f"burst of {chosen.burst} MB: {live}, read at once {batch}: {batch.seconds / live.seconds:.2f} of that speed",
            flush=True,
        )
        started = time.perf_counter()
        samples = memory(log, chosen.lines)
        rate = chosen.lines / (time.perf_counter() - started)
        early = samples[len(samples) // 10][1]
        print(
            f"memory over {chosen.lines} million lines at {rate:.2f} million a second: {early:.0f} MB after a tenth, "
            f"at most {max(size for _, size in samples):.0f} MB, {samples[-1][1]:.0f} MB at the end"
        )
        if chosen.plots:
            chosen.plots.mkdir(parents=True, exist_ok=True)
            (chosen.plots / "memory.svg").write_text(
                svg(samples, "Resident memory while following", "million lines", "MB")
            )
            curve = [(100 * (number + 1) / len(delays), delay) for number, delay in enumerate(delays)]
            (chosen.plots / "latency.svg").write_text(svg(curve, "From write to event", "% of failures", "ms"))


if __name__ == "__main__":
    main()
