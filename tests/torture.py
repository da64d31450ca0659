"""A writer that appends and rotates while `--follow` reads: every planted failure is told exactly once.

`python -m tests.torture --runs 100 [--kill] [--format jsonl]` repeats it with different seeds; the tests run a few.
"""

from __future__ import annotations

import argparse
import gzip
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
from collections.abc import Iterator
from pathlib import Path

PLANTED = 25
SOURCES = ("file", "file that comes later", "directory", "pattern")
RUNNING = ("rename", "write on", "copytruncate", "two copytruncates", "symlink", "delete", "empty", "two renames")
"""How a log is rotated while it is read. `write on`: the writer opens the new file late."""
STOPPED = ("rename", "write on", "copytruncate", "two copytruncates", "two renames", "symlink")
"""The ways that lose nothing while nobody reads."""
SETTLED_SECONDS = 2.5
"""After so long, what was read is told, and the state says so."""
_TOLD = re.compile(r"^  RuntimeError: planted failure ([a-z]+)", re.MULTILINE)
_EVENT = re.compile(r'"message": ?"planted failure ([a-z]+)')


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
        self._path, self._dice = path, dice
        self._file = self._open()
        self._rotations = 0
        self._open_at = 0.0
        self._linked_at = 0.0
        self._unread = False
        """Whether nobody is known to have read what the link leads to."""
        self.number = 0
        self.ways: Counter[str] = Counter()

    def _open(self) -> object:
        """For appending or, as some do, not: then a file that is emptied begins with a hole."""
        if self._path.exists():
            return self._path.open("ab", buffering=0)
        return self._path.open(self._dice.choice(("ab", "wb")), buffering=0)

    def ordinary(self, lines: int) -> None:
        for _ in range(lines):
            self.write(ordinary(self._dice, self.number))
            self.number += 1

    def write(self, data: bytes) -> None:
        if self._open_at and time.monotonic() > self._open_at:
            self._open_at = 0.0
            self._file.close()
            self._file = self._open()
        if self._dice.random() < 0.1:
            cut = self._dice.randrange(1, len(data))
            self._file.write(data[:cut])
            time.sleep(self._dice.random() * 0.01)
            data = data[cut:]
        self._file.write(data)

    def look(self, pid: int) -> None:
        """Finds out whether the follower has read what a link leads to: on a busy machine its start takes seconds."""
        if self._unread and is_read(pid, self._path):
            self._unread, self._linked_at = False, time.monotonic()

    def rotate(self, way: str) -> None:
        if self._open_at:
            return  # the last rotation is not over
        self.ways[way] += 1
        if way.startswith("two "):
            for _ in range(2):
                self._rotate(way.split()[1].rstrip("s"))
                self.ordinary(self._dice.randrange(3))
        else:
            self._rotate(way)

    def _rotate(self, way: str) -> None:
        self._rotations += 1
        old = self._path.with_name(f"{self._path.name}.{self._rotations}")
        if way == "copytruncate":
            shutil.copy(self._path, old)
            os.truncate(self._path, 0)
        elif way == "empty":
            os.truncate(self._path, 0)
        elif way == "write on":
            os.replace(self._path, old)
            if self._dice.random() < 0.5:
                self._path.touch()
            self._open_at = time.monotonic() + self._dice.random() * 0.5
        elif way == "symlink":
            # The target of a link that nothing leads to any more is found by its inode only, so one at a time.
            settled = not self._unread and time.monotonic() - self._linked_at >= SETTLED_SECONDS
            if self._path.is_symlink() and not settled:
                return
            self._linked_at, self._unread = time.monotonic(), True
            target, link = self._path.with_name(f"target-{self._path.name}-{self._rotations}"), old.with_suffix(".new")
            target.touch()
            link.symlink_to(target)
            if not self._path.is_symlink():
                os.link(self._path, old)
            os.replace(link, self._path)
            self._again()
        else:
            (os.unlink if way == "delete" else lambda path: os.replace(path, old))(self._path)
            if way == "delete":
                self._file.write(ordinary(self._dice, self.number))
            self._again()

    def _again(self) -> None:
        before, self._file = self._file, self._open()
        before.close()

    def pack(self, pid: int) -> None:
        """What `delaycompress` does: all but the last of the earlier files that are no links, once they were read."""
        earlier = [self._path.with_name(f"{self._path.name}.{number}") for number in range(1, self._rotations - 1)]
        for old in earlier:
            if old.exists() and not old.is_symlink() and is_read(pid, old):
                with gzip.open(f"{old}.gz", "wb") as file:
                    file.write(old.read_bytes())
                old.unlink()
                self.ways["packed"] += 1


def await_open(pid: int, path: Path, seconds: float = 90.0) -> None:
    """Waits until a process has opened a file: what is rotated away before belongs to the past."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if any(_same(path, opened) for opened in _opened(pid)):
            return
        time.sleep(0.02)
    raise TimeoutError(f"{path} was not opened in {seconds} s")


def await_read(pid: int, path: Path, seconds: float = 90.0) -> None:
    """Waits until a process has read all that a file holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_read(pid, path):
            return
        time.sleep(0.01)
    raise TimeoutError(f"{path} was not read in {seconds} s")


def is_read(pid: int, path: Path) -> bool:
    for opened in _opened(pid):
        try:
            information = Path(opened.replace("/fd/", "/fdinfo/")).read_text()
            if _same(path, opened) and int(information.split()[1]) >= path.stat().st_size:
                return True
        except OSError:
            continue
    return False


def _same(path: Path, opened: str) -> bool:
    try:
        return os.path.samefile(path, opened)
    except OSError:
        return False


def _opened(pid: int) -> Iterator[str]:
    try:
        yield from (f"/proc/{pid}/fd/{one}" for one in os.listdir(f"/proc/{pid}/fd") if int(one) > 2)
    except OSError:
        return


class Torture:
    """One run: a follower, its writers, and what they do by the dice."""

    def __init__(self, folder: Path, seed: int, *, kill: bool, form: str) -> None:
        self.dice = random.Random(seed)
        self.folder, self.kill, self.form = folder / "logs", kill, form
        self.folder.mkdir()
        self.log = self.folder / "server.log"
        self.out, self.errors, self.state = folder / "told.txt", folder / "errors.txt", folder / "state.json"
        self.source = SOURCES[seed % len(SOURCES)]
        self.writers: list[Writer] = []
        # The past: nobody may read it.
        with gzip.open(self.folder / "server.log.9000.gz", "wb") as file:
            file.write(failure(PLANTED, 0))
        (self.folder / "server.log.8000").write_bytes(failure(PLANTED, 0) + ordinary(self.dice, 0))
        os.utime(self.folder / "server.log.8000", (1e9, 1e9))
        if self.source != "file that comes later":
            self.log.touch()
        self.start()
        if self.source == "file that comes later":
            time.sleep(1.5)
        self.add_writer(self.log)
        self.quiet_until = time.monotonic() + 0.5  # the first state is on the disk

    def start(self) -> None:
        named = {"directory": self.folder, "pattern": self.folder / "*.log*"}.get(self.source, self.log)
        command = [sys.executable, "-m", "explain", "--follow", "--from", "start", "--color", "never"]
        command += ["--format", self.form, *(["--state", str(self.state)] if self.kill else []), str(named)]
        with self.out.open("ab") as out, self.errors.open("ab") as errors:
            self.follower = subprocess.Popen(command, stdout=out, stderr=errors, cwd=Path(__file__).parent.parent)

    def add_writer(self, path: Path) -> None:
        self.writers.append(Writer(path, self.dice))
        if not self.follower.returncode:
            await_open(self.follower.pid, path)

    def run(self, seconds: float) -> None:
        planted, end = 0, time.monotonic() + seconds
        while planted < PLANTED or time.monotonic() < end:
            writer = self.dice.choice(self.writers)
            writer.ordinary(self.dice.choice((0, 1, 5, 200)))
            if planted < PLANTED and self.dice.random() < 0.15:
                writer.write(failure(planted, self.dice.randrange(8)))
                writer.ordinary(1)
                planted += 1
            chance = self.dice.random()
            if chance < 0.04:
                self.rotate(writer, self.dice.choice(RUNNING))
            elif chance < 0.05 and self.source in ("directory", "pattern") and len(self.writers) < 3:
                self.add_writer(self.folder / f"worker{len(self.writers)}.log")
            elif chance < 0.06:
                writer.pack(self.follower.pid)
                self.quiet_until = max(self.quiet_until, time.monotonic() + SETTLED_SECONDS / 2)
            elif chance < 0.08 and self.kill and time.monotonic() > self.quiet_until:
                planted = self.stop_and_go_on(planted)
            time.sleep(self.dice.random() * 0.04)

    def rotate(self, writer: Writer, way: str) -> None:
        writer.look(self.follower.pid)
        if way in ("delete", "empty") and writer._open_at == 0.0:
            # What nobody has read, or what would have to be read again after a kill, is lost to everybody.
            writer.ordinary(1)
            await_read(self.follower.pid, writer._path)
            writer.rotate(way)
            self.quiet_until = time.monotonic() + SETTLED_SECONDS
        elif way not in ("delete", "empty"):
            writer.rotate(way)

    def stop_and_go_on(self, planted: int) -> int:
        """SIGKILL, and a start at once or after the log was written and rotated without us."""
        for writer in self.writers:
            writer.look(self.follower.pid)
        self.follower.kill()
        self.follower.wait()
        if self.dice.random() < 0.5:
            for _ in range(self.dice.randrange(4)):
                writer = self.dice.choice(self.writers)
                writer.ordinary(5)
                if planted < PLANTED:
                    writer.write(failure(planted, self.dice.randrange(8)))
                    writer.ordinary(1)
                    planted += 1
                writer.rotate(self.dice.choice(STOPPED))
                writer.ordinary(1)
                time.sleep(self.dice.random() * 0.3)
        self.start()
        return planted

    def told(self) -> Counter[str]:
        text = self.out.read_text(errors="replace")
        return Counter((_TOLD if self.form == "terminal" else _EVENT).findall(text))

    def wrong(self) -> list[str]:
        """What was told not exactly once, when all of it had time to be told, and told twice."""
        deadline = time.monotonic() + 45.0
        while time.monotonic() < deadline and len(self.told()) < PLANTED:
            time.sleep(0.1)
        time.sleep(1.5)
        self.follower.send_signal(signal.SIGKILL)
        self.follower.wait()
        told = self.told()
        wrong = [f"{code(one)}: {told[code(one)]} times" for one in range(PLANTED) if told[code(one)] != 1]
        return wrong + ["the past was told" for _ in range(told[code(PLANTED)])]


def torture(
    seed: int, *, kill: bool, seconds: float = 4.0, form: str = "terminal", ways: Counter[str] | None = None
) -> list[str]:
    """Runs once; what was told not exactly once, empty where all is well. `ways` counts how files were rotated."""
    with tempfile.TemporaryDirectory() as name:
        run = Torture(Path(name).resolve(), seed, kill=kill, form=form)
        try:
            run.run(seconds)
            wrong = run.wrong()
        except TimeoutError as error:
            wrong = [str(error)]
        finally:
            run.follower.kill()
            run.follower.wait()
        complaints = run.errors.read_text(errors="replace")
        if ways is not None:
            for writer in run.writers:
                ways.update(writer.ways)
            ways[f"source: {run.source}"] += 1
        expected = ("holds no log yet", "is not there yet", "is there;")
        wrong += [line for line in complaints.splitlines() if not any(words in line for words in expected)]
        if wrong and os.environ.get("KEEP"):
            shutil.copytree(name, f"{os.environ['KEEP']}-{seed}", symlinks=True)
        return wrong


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kill", action="store_true", help="end the follower with SIGKILL now and then")
    parser.add_argument("--format", choices=("terminal", "jsonl"), default="terminal")
    chosen = parser.parse_args()
    bad, ways = 0, Counter[str]()
    for seed in range(chosen.first, chosen.first + chosen.runs):
        wrong = torture(seed, kill=chosen.kill, form=chosen.format, ways=ways)
        bad += bool(wrong)
        print(f"seed {seed}: {'ok' if not wrong else '; '.join(wrong)}", flush=True)
    print(", ".join(f"{way} {count}" for way, count in sorted(ways.items())))
    print(f"{chosen.runs - bad} of {chosen.runs} runs told every failure exactly once")


if __name__ == "__main__":
    main()
