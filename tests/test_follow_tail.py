"""The tail: every byte once, in order, whatever happens to the file."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from explain.follow import Tail
from explain.pastfiles import Others

WATCHERS: list[Watcher] = []


@pytest.fixture(autouse=True)
def no_file_stays_open() -> Iterator[None]:
    """A follower keeps what was rotated away for a while; hundreds of tests must not."""
    yield
    while WATCHERS:
        WATCHERS.pop().tail.close()


class Watcher:
    """Polls a tail with a clock of its own and keeps what it read."""

    def __init__(self, path: Path, **options: object) -> None:
        self.tail = Tail(str(path), **options)  # type: ignore[arg-type]
        self.now = 0.0
        self.pieces: list[tuple[int, bytes]] = []
        WATCHERS.append(self)

    def poll(self, times: int = 1) -> None:
        for _ in range(times):
            self.now += 0.1
            self.pieces += [(piece.generation, piece.data) for piece in self.tail.poll(self.now)]

    @property
    def data(self) -> bytes:
        return b"".join(data for _, data in self.pieces)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_growth_and_a_file_that_appears_later(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    watcher = Watcher(path)
    watcher.poll()
    append(path, b"one\n")
    watcher.poll()
    append(path, b"two\n")
    watcher.poll(3)
    assert watcher.data == b"one\ntwo\n"
    assert [problem.message for problem in watcher.tail.problems] == ["is not there yet", "is there"]


def test_start_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"old\n")
    watcher = Watcher(path, start="end")
    watcher.poll()
    append(path, b"new\n")
    watcher.poll()
    assert watcher.data == b"new\n"


def rename(path: Path) -> None:
    path.rename(path.with_name(path.name + f".{random.random()}"))
    path.touch()


def recreate(path: Path) -> None:
    path.unlink()
    path.touch()


def truncate(path: Path) -> None:
    shutil.copy(path, path.with_name(path.name + ".1"))
    os.truncate(path, 0)


@pytest.mark.parametrize("rotate", [rename, recreate, truncate])
def test_rotation(tmp_path: Path, rotate) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "server.log"
    append(path, b"one\n")
    watcher = Watcher(path)
    watcher.poll()
    rotate(path)
    append(path, b"two\n")
    watcher.poll(3)
    assert watcher.data == b"one\ntwo\n"
    assert len({generation for generation, _ in watcher.pieces}) == 2


def test_what_the_old_file_still_holds_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"one\n")
    watcher = Watcher(path)
    watcher.poll()
    with path.open("ab") as writer:
        path.rename(tmp_path / "server.log.1")
        writer.write(b"late\n")
        writer.flush()
        append(path, b"new\n")
        watcher.poll(2)
        writer.write(b"later\n")
        writer.flush()
        watcher.poll(2)
    assert watcher.data == b"one\nlate\nnew\nlater\n"


def test_two_rotations_between_two_polls_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"one\n")
    watcher = Watcher(path)
    watcher.poll()
    path.rename(tmp_path / "server.log.1")
    append(path, b"two\n")
    (tmp_path / "server.log.1").rename(tmp_path / "server.log.2")
    path.rename(tmp_path / "server.log.1")
    append(path, b"three\n")
    watcher.poll(3)
    assert watcher.data == b"one\ntwo\nthree\n"


def test_emptied_and_grown_beyond_the_old_size(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"one\n")
    watcher = Watcher(path)
    watcher.poll()
    path.write_bytes(b"another text, and longer\n")
    watcher.poll()
    assert watcher.data == b"one\nanother text, and longer\n"


def test_copytruncate_leaves_a_hole_of_nuls(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("wb") as writer:
        writer.write(b"one\n" * 5000)
        writer.flush()
        watcher = Watcher(path)
        watcher.poll()
        os.truncate(path, 0)
        writer.write(b"two\n")
        writer.flush()
        watcher.poll(2)
    assert watcher.data == b"one\n" * 5000 + b"two\n"


def test_a_symlink_is_switched(tmp_path: Path) -> None:
    path = tmp_path / "current.log"
    append(tmp_path / "a", b"a1\n")
    path.symlink_to(tmp_path / "a")
    watcher = Watcher(path)
    watcher.poll()
    append(tmp_path / "b", b"b1\n")
    path.unlink()
    path.symlink_to(tmp_path / "b")
    watcher.poll(2)
    append(tmp_path / "a", b"a2\n")
    path.unlink()
    path.symlink_to(tmp_path / "a")
    watcher.poll(2000)
    append(tmp_path / "a", b"a3\n")
    watcher.poll(2)
    assert watcher.data == b"a1\nb1\na2\na3\n"


def test_packed_and_older_files_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(tmp_path / "server.log.1", b"past\n")
    append(tmp_path / "server.log.2.gz", b"packed\n")
    append(path, b"one\n")
    watcher = Watcher(path)
    watcher.poll()
    rename(path)
    append(path, b"two\n")
    watcher.poll(2)
    assert watcher.data == b"one\ntwo\n"


@pytest.mark.parametrize("read", [True, False])
def test_resume_after_a_copytruncate_while_away(tmp_path: Path, read: bool) -> None:
    path = tmp_path / "server.log"
    append(tmp_path / "server.log.7", b"long ago\n")
    os.utime(tmp_path / "server.log.7", (1, 1))
    append(path, b"one\n" if read else b"")
    first = Watcher(path)
    first.poll()
    left, _ = first.tail.left() or (None, [])
    first.tail.close()
    append(path, b"two\n")
    truncate(path)
    append(path, b"three\n")
    second = Watcher(path, start=left)
    second.poll(3)
    assert second.data == b"two\nthree\n"


@pytest.mark.parametrize("rotated", [False, True])
def test_resume_from_a_mark(tmp_path: Path, rotated: bool) -> None:
    path = tmp_path / "server.log"
    append(path, b"one\n")
    first = Watcher(path)
    first.poll()
    left, _ = first.tail.left() or (None, [])
    first.tail.close()
    append(path, b"two\n")
    if rotated:
        path.rename(tmp_path / "server.log.1")
        append(path, b"three\n")
    second = Watcher(path, start=type(left).from_json(left.as_json()))
    second.poll(3)
    assert second.data == b"two\n" + (b"three\n" if rotated else b"")


def test_permission_lost_and_regained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "server.log"
    append(path, b"one\n")
    opened = os.open

    def refuse(name: str, *rest: object) -> int:
        if str(name) == str(path):
            raise PermissionError(13, "Permission denied")
        return opened(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refuse)
    watcher = Watcher(path)
    watcher.poll(3)
    assert [problem.message for problem in watcher.tail.problems] == ["cannot be read: permission denied"]
    monkeypatch.setattr(os, "open", opened)
    watcher.poll(2)
    assert watcher.data == b"one\n"
    assert watcher.tail.problems[-1].message == "is readable again"


@pytest.mark.parametrize("seed", range(40))
def test_a_writer_that_rotates_in_all_ways(tmp_path: Path, seed: int) -> None:
    """Numbered lines, polls at random moments: each line once; truncation may cut only what nobody read."""
    dice = random.Random(seed)
    path = tmp_path / "server.log"
    watcher = Watcher(path)
    watcher.poll()
    written = 0
    for _ in range(200):
        for _ in range(dice.randrange(4)):
            append(path, b"line %d\n" % written)
            written += 1
        action = dice.random()
        if action < 0.5:
            watcher.poll(dice.randrange(1, 3))
        elif action < 0.6 and path.exists():
            path.rename(tmp_path / f"server.log.{dice.randrange(10**9)}")
        elif action < 0.65 and path.exists():
            watcher.poll()
            truncate(path)
        elif action < 0.7 and path.exists():
            watcher.poll()
            recreate(path)
    watcher.poll(300)
    lines = [int(line.split()[1]) for line in watcher.data.splitlines()]
    assert sorted(lines) == list(range(written))


@pytest.mark.parametrize("seed", range(40))
def test_a_reader_that_is_stopped_and_goes_on_at_its_marks(tmp_path: Path, seed: int) -> None:
    """Rotated while nobody reads, also more than once, and while a writer holds on to the old file."""
    dice = random.Random(seed)
    path = tmp_path / "server.log"
    watcher = Watcher(path)
    watcher.poll()
    written, held = 0, None

    def write() -> None:
        nonlocal written
        for _ in range(dice.randrange(4)):
            line = b"line %d\n" % written
            written += 1
            if held is not None and dice.random() < 0.5:
                held.write(line)
                held.flush()
            else:
                append(path, line)

    def rotate(number: int) -> None:
        if not path.exists():
            return
        earlier = tmp_path / f"server.log.{number}"
        if dice.random() < 0.5:
            path.rename(earlier)
        else:
            shutil.copy(path, earlier)
            os.truncate(path, 0)

    for number in range(150):
        write()
        action = dice.random()
        if action < 0.5:
            watcher.poll(dice.randrange(1, 3))
        elif action < 0.6 and path.exists() and path.stat().st_size:
            watcher.poll()
            held = path.open("ab")
            path.rename(tmp_path / f"server.log.{number}")
        elif action < 0.7:
            held = None
            rotate(number)
        elif action < 0.9:
            watcher.poll()
            left, _ = watcher.tail.left() or (None, [])
            watcher.tail.close()
            seen = watcher.pieces
            for away in range(dice.randrange(3)):
                write()
                held = None
                rotate(1000 * number + away)
                write()
            watcher = Watcher(path, start=left)
            watcher.pieces = seen
            watcher.poll()
    watcher.poll(30)
    lines = [int(line.split()[1]) for line in watcher.data.splitlines()]
    assert sorted(lines) == list(range(written))


def test_a_tail_leaves_to_another_what_that_reads_and_finishes_its_own(tmp_path: Path) -> None:
    """A link and its target are followed, as a pattern finds them; the link was a file when it was left."""
    path, target = tmp_path / "server.log", tmp_path / "run-1.log"
    append(path, b"one\n")
    first = Watcher(path)
    first.poll()
    left, _ = first.tail.left() or (None, [])
    first.tail.close()
    append(path, b"two\n")
    path.rename(tmp_path / "server.log.1")
    append(target, b"three\n")
    path.symlink_to(target)

    class Reader(Others):
        def read(self, path: str, status: os.stat_result) -> bool:
            return os.path.samestat(status, target.stat())

    second = Watcher(path, start=left, others=Reader())
    second.poll(3)
    assert second.data == b"two\n"


def test_an_unpacked_old_file_and_a_copy_made_by_hand_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"one\n")
    watcher = Watcher(path)
    watcher.poll()
    shutil.copy(path, tmp_path / "server.log.bak")
    append(tmp_path / "server.log.7", b"long ago\n")
    os.utime(tmp_path / "server.log.7", (1, 1))
    append(path, b"two\n")
    watcher.poll()
    rename(path)
    append(path, b"three\n")
    watcher.poll(3)
    assert watcher.data == b"one\ntwo\nthree\n"


def test_a_file_that_is_gone_is_told_once_and_welcomed_back(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"one\n")
    watcher = Watcher(path)
    watcher.poll()
    path.unlink()
    watcher.poll(20)
    assert not watcher.tail.problems
    watcher.poll(200)
    append(path, b"two\n")
    watcher.poll(20)
    assert [problem.message for problem in watcher.tail.problems] == ["is gone", "is there"]
    assert watcher.data == b"one\ntwo\n"


def test_an_emptied_file_is_noticed_between_two_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy holds the rest, however the emptied file has grown since."""
    monkeypatch.setattr("explain.openfile.READ_BYTES", 4000)
    path = tmp_path / "server.log"
    lines = b"".join(b"line %d\n" % number for number in range(2000))
    append(path, lines)
    tail, got = Tail(str(path)), b""
    for piece in tail.poll(0.1):
        got += piece.data
        if len(got) == 8000:
            shutil.copy(path, tmp_path / "server.log.1")
            with path.open("r+b") as writer:  # no append: goes on behind a hole
                os.truncate(path, 0)
                writer.seek(len(lines))
                writer.write(b"after\n")
    got += b"".join(piece.data for piece in tail.poll(0.2))
    assert got == lines + b"after\n"


def test_more_than_one_poll_reads_of_a_file_that_came_and_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explain.openfile.READ_BYTES", 100)
    monkeypatch.setattr("explain.openfile.BUDGET_BYTES", 1000)
    path = tmp_path / "server.log"
    append(path, b"one\n")
    watcher = Watcher(path)
    watcher.poll()
    path.rename(tmp_path / "server.log.1")
    append(tmp_path / "server.log.2", b"x" * 5000 + b"\n")
    append(path, b"three\n")
    watcher.poll(3)
    assert watcher.data == b"one\n" + b"x" * 5000 + b"\nthree\n"
