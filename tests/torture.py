"""A writer that appends and rotates while `--follow` reads: every planted failure is told exactly once.

`python -m tests.torture --runs 100 [--kill]` repeats it with different seeds; the tests run a few.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

PLANTED = 25
_TOLD = re.compile(r"^  RuntimeError: planted failure ([a-z]+)", re.MULTILINE)


def code(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


def failure(number: int, rank: int) -> bytes:
    return (
        f"[2026-11-30 08:14:58 TP{rank}] Scheduler hit an exception: Traceback (most recent call last):\n"
        f'  File "/x/sglang/srt/planted.py", line {number}, in step\n'
        "    go()\n"
        f"RuntimeError: planted failure {code(number)}\n\n"
    ).encode()


def ordinary(dice: random.Random, number: int) -> bytes:
    return (
        f"[2026-11-30 08:15:41 TP{dice.randrange(8)}] Decode batch, #running-req: {number}, #token: {number * 31}, "
        "token usage: 0.42, cuda graph: True, gen throughput (token/s): 812.44, #queue-req: 0\n"
    ).encode()


class Writer:
    """Appends to `path` as a server would; `rotate` replaces the file in one of the usual ways."""

    def __init__(self, path: Path, dice: random.Random) -> None:
        self._path, self._dice, self._file = path, dice, path.open("ab", buffering=0)
        self._rotations = 0

    def write(self, data: bytes) -> None:
        if self._dice.random() < 0.1:
            cut = self._dice.randrange(1, len(data))
            self._file.write(data[:cut])
            time.sleep(self._dice.random() * 0.01)
            data = data[cut:]
        self._file.write(data)

    def rotate(self) -> None:
        self._rotations += 1
        kind = self._dice.choice(("rename", "rename and write on", "copytruncate", "symlink"))
        old = self._path.with_name(f"{self._path.name}.{self._rotations}")
        if kind == "copytruncate" and not self._path.is_symlink():
            time.sleep(0.3)  # lines written between the copy and the cut are lost to everybody
            shutil.copy(self._path, old)
            os.truncate(self._path, 0)
            return
        before = self._file
        if kind == "symlink":
            target = self._path.with_name(f"target-{self._rotations}")
            target.touch()
            os.replace(self._path, old)
            self._path.symlink_to(target)
        else:
            os.replace(self._path, old)
        if kind == "rename and write on":
            before.write(ordinary(self._dice, 1) * 3)
        self._file = self._path.open("ab", buffering=0)
        before.close()


def await_open(pid: int, path: Path, seconds: float = 30.0) -> None:
    """Waits until a process has opened a file: what is rotated away before belongs to the past."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if any(os.path.realpath(f"/proc/{pid}/fd/{fd}") == str(path) for fd in os.listdir(f"/proc/{pid}/fd")):
                return
        except OSError:
            pass
        time.sleep(0.02)
    raise TimeoutError(f"{path} was not opened in {seconds} s")


def torture(seed: int, *, kill: bool, seconds: float = 4.0) -> list[str]:
    """Runs once; what was told not exactly once, empty where all is well."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log, out, state = folder / "server.log", folder / "told.txt", folder / "state.json"
        log.touch()
        command = [
            sys.executable,
            "-m",
            "explain",
            "--follow",
            "--from",
            "start",
            "--color",
            "never",
            str(log),
        ]
        if kill:
            command += ["--state", str(state)]

        def start() -> subprocess.Popen[bytes]:
            with out.open("ab") as target:
                return subprocess.Popen(
                    command,
                    stdout=target,
                    stderr=(folder / "errors.txt").open("ab"),
                    cwd=Path(__file__).parent.parent,
                )

        follower = start()
        await_open(follower.pid, log)
        time.sleep(0.2)  # the first state is on the disk
        writer = Writer(log, dice)
        planted, number, end = 0, 0, time.monotonic() + seconds
        while planted < PLANTED or time.monotonic() < end:
            for _ in range(dice.choice((0, 1, 5, 200))):
                writer.write(ordinary(dice, number))
                number += 1
            if planted < PLANTED and dice.random() < 0.15:
                writer.write(failure(planted, dice.randrange(8)))
                writer.write(ordinary(dice, number))
                planted += 1
            if dice.random() < 0.04:
                writer.rotate()
            if kill and dice.random() < 0.01:
                follower.kill()
                follower.wait()
                follower = start()
            time.sleep(dice.random() * 0.04)
        deadline = time.monotonic() + 45.0
        while time.monotonic() < deadline and len(set(_TOLD.findall(out.read_text(errors="replace")))) < PLANTED:
            time.sleep(0.1)
        time.sleep(1.5)  # time to tell something twice
        follower.send_signal(signal.SIGKILL)
        follower.wait()
        told = Counter(_TOLD.findall(out.read_text(errors="replace")))
        if complaints := (folder / "errors.txt").read_text(errors="replace").strip():
            print(complaints)
        return [f"{code(one)}: {told[code(one)]} times" for one in range(PLANTED) if told[code(one)] != 1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kill", action="store_true", help="end the follower with SIGKILL now and then")
    chosen = parser.parse_args()
    bad = 0
    for seed in range(chosen.first, chosen.first + chosen.runs):
        wrong = torture(seed, kill=chosen.kill)
        bad += bool(wrong)
        print(f"seed {seed}: {'ok' if not wrong else '; '.join(wrong)}", flush=True)
    print(f"{chosen.runs - bad} of {chosen.runs} runs told every failure exactly once")


if __name__ == "__main__":
    main()
