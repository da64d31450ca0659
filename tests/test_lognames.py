"""What a followed source stands for, and which names belong to earlier files of a log."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from explain.lognames import is_earlier, logs_of, rotated
from explain.marks import Left, Mark
from explain.model import Problem
from explain.state import State
from explain.tails import Tails
from tests.test_live import live


@pytest.mark.parametrize(
    "other",
    [
        "server.log.1",
        "server.log.12",
        "server.log-20261130",
        "server.log.2026-11-30",
        "server.log.2026-11-30_08-15-41",
        "server.log.2026-11-30T08:15:41Z",
        "server.log.20261130-081541",
        "server.log.old",
        "server.log.bak.1",
        "server-20261130.log",
        "server.2026-11-30_08-15-41_123456.log",
    ],
)
def test_names_that_rotation_gives(other: str) -> None:
    assert is_earlier(other, "server.log")


@pytest.mark.parametrize(
    "other",
    [
        "server.log",
        "server.log.1.gz",
        "server.log.zst",
        "server-2.log",
        "server-decode.log",
        "server_rank1.log",
        "server.err",
        "server.log.swp",
        "server.log2",
        "my-server.log",
    ],
)
def test_names_of_other_logs_and_packed_files(other: str) -> None:
    assert not is_earlier(other, "server.log")


def test_a_name_without_an_ending_does_not_swallow_its_neighbours() -> None:
    assert is_earlier("serve.1", "serve") and is_earlier("serve-20261130", "serve")
    assert not any(is_earlier(other, "serve") for other in ("serve.log", "serve.err", "serve-2.log", "server"))


def test_a_folder_and_a_pattern_stand_for_logs_not_for_their_past(tmp_path: Path) -> None:
    for name in ("a.log", "a.log.1", "a.log.2.gz", "b.out", ".hidden.log", "notes.md", "a.log.state"):
        (tmp_path / name).touch()
    (tmp_path / "current.log").symlink_to(tmp_path / "a.log")
    names = [os.path.basename(path) for path in logs_of(str(tmp_path), set())]
    assert names == ["a.log", "a.log.state", "b.out", "current.log"]
    pattern = [os.path.basename(path) for path in logs_of(str(tmp_path / "a.log*"), set())]
    assert pattern == ["a.log", "a.log.state"]
    (tmp_path / "a.log").unlink()
    assert str(tmp_path / "a.log.1") in logs_of(str(tmp_path), set())
    assert str(tmp_path / "a.log.1") not in logs_of(str(tmp_path), {str(tmp_path / "a.log")})


def test_earlier_files_come_oldest_first(tmp_path: Path) -> None:
    for age, name in enumerate(("server.log.1", "server.log-20261130", "server.log.2026-11-28")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    names = [os.path.basename(path) for path in rotated(str(tmp_path / "server.log"))]
    assert names == ["server.log.2026-11-28", "server.log-20261130", "server.log.1"]


class Folder:
    """Follows a folder with a clock of its own."""

    def __init__(self, folder: Path, state: State | None = None) -> None:
        self.live, self.now, self.problems = live(), 0.0, list[Problem]()
        self.live.names.clear()
        self.tails = Tails([str(folder)], self.live, "start", state or State(), self.problems.append)
        self.read: list[tuple[str, bytes]] = []

    def step(self) -> None:
        self.now += 1.0
        self.tails.scan()
        for number, tail in self.tails.opened:
            self.read += [(os.path.basename(self.live.names[number]), one.data) for one in tail.poll(self.now)]

    @property
    def data(self) -> bytes:
        return b"".join(data for _, data in self.read)


def test_new_files_of_a_folder_are_read_from_their_start_each_byte_once(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.step()
    assert [problem.message for problem in folder.problems] == ["holds no log yet"]
    (tmp_path / "a.log").write_bytes(b"a1\n")
    (tmp_path / "current.log").symlink_to(tmp_path / "a.log")
    folder.step()
    (tmp_path / "a.log").rename(tmp_path / "a.log.2026-11-30")
    (tmp_path / "a.log").write_bytes(b"a2\n")
    folder.step()
    (tmp_path / "a.log").rename(tmp_path / "crashed.log")  # no name of rotation, the same file
    folder.step()
    with (tmp_path / "crashed.log").open("ab") as file:
        file.write(b"a3\n")
    folder.step()
    assert folder.data == b"a1\na2\na3\n"


def test_a_log_that_came_while_we_were_stopped_is_read_from_its_start(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"a1\n")
    first = Folder(tmp_path)
    first.step()
    state = State(dict(first.tails.left()), at=time.time())
    (tmp_path / "b.log.1").write_bytes(b"b1\n")
    (tmp_path / "b.log").write_bytes(b"b2\n")
    with (tmp_path / "a.log").open("ab") as file:
        file.write(b"a2\n")
    second = Folder(tmp_path, state)
    second.tails._start = "end"
    second.step()
    assert sorted(second.read) == [("a.log", b"a2\n"), ("b.log", b"b1\n"), ("b.log", b"b2\n")]


def test_files_of_a_folder_that_are_gone_are_let_go(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"a1\n")
    folder = Folder(tmp_path)
    folder.step()
    (tmp_path / "a.log").unlink()
    for _ in range(200):
        folder.step()
    assert folder.tails.opened == [] and folder.tails.left() == {} and not folder.problems


def test_the_past_of_a_log_that_is_away_while_we_start_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.log.7").write_bytes(b"long ago\n")
    os.utime(tmp_path / "a.log.7", (1, 1))
    (tmp_path / "a.log").write_bytes(b"a1\n")
    first = Folder(tmp_path)
    first.step()
    state = State(dict(first.tails.left()), at=time.time())
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")  # its writer opens the new one in a moment
    with (tmp_path / "a.log.1").open("ab") as file:
        file.write(b"a2\n")
    second = Folder(tmp_path, state)
    second.step()
    assert second.read == [("a.log", b"a2\n")]
    (tmp_path / "a.log").write_bytes(b"a3\n")
    second.step()
    assert second.read == [("a.log", b"a2\n"), ("a.log", b"a3\n")]


def test_a_link_and_its_target_are_read_under_the_name_they_were_left_with(tmp_path: Path) -> None:
    """A file comes before a link in a folder, but not one that the link was read through."""
    target = tmp_path / "run-1.log"
    (tmp_path / "server.log").write_bytes(b"one\n")
    first = Folder(tmp_path)
    first.step()
    (tmp_path / "server.log").unlink()
    target.write_bytes(b"two\n")
    (tmp_path / "server.log").symlink_to(target)
    for _, tail in first.tails.opened:  # before the folder is looked through again
        first.read += [("server.log", one.data) for one in tail.poll(first.now + 0.1)]
    state = State(dict(first.tails.left()), at=time.time())
    second = Folder(tmp_path, state)
    second.step()
    assert first.data == b"one\ntwo\n" and second.data == b""


def test_what_is_newer_than_the_marks_is_not_settled(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"a1\na2\n")
    folder = Folder(tmp_path)
    folder.step()
    folder.tails.left()
    ((number, tail),) = folder.tails.opened
    _, (generation,) = tail.left() or (None, [0])
    assert folder.tails.is_settled(number, generation - 1, 99)
    assert not folder.tails.is_settled(number, generation + 1, 1)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("server.log.gz", b"\x1f\x8b", "is packed and will not grow; read it without --follow"),
        ("server.log", "text".encode("utf-16"), "is UTF-16 text, which is not followed; read it without --follow"),
    ],
)
def test_what_cannot_be_followed_is_told(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    folder = Folder(tmp_path / name)
    folder.step()
    assert [f"{one.message}; {one.hint}"[: len(words)] for one in folder.problems] == [words]


def test_an_inode_that_is_given_to_another_file_keeps_nothing_unread(tmp_path: Path) -> None:
    """What another path was left with is told from a new file of the same inode by its bytes."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(f"{name} 1\n".encode())
    first = Folder(tmp_path)
    first.step()
    left = dict(first.tails.left())
    with (tmp_path / "b.log").open("ab") as file:
        file.write(b"b 2\n")
    (tmp_path / "b.log").rename(tmp_path / "b.log.1")
    (tmp_path / "b.log").write_bytes(b"b 3\n")
    # a.log had a file before, which is packed and gone; its inode is that of b.log.1 now.
    status = (tmp_path / "b.log.1").stat()
    gone = Mark(status.st_dev, status.st_ino, 6, b"other\n")
    a, b = str(tmp_path / "a.log"), str(tmp_path / "b.log")
    left = {a: Left((gone, *left[a].marks)), b: Left((Mark.nowhere(time.time()),))}
    second = Folder(tmp_path, State(left, at=time.time()))
    second.step()
    assert second.data == b"b.log 1\nb 2\nb 3\n"


def test_a_copy_that_is_made_through_a_link_is_found_by_the_reader_of_its_target(tmp_path: Path) -> None:
    target, link = tmp_path / "run-1.log", tmp_path / "server.log"
    target.write_bytes(b"one\n")
    link.symlink_to(target)
    folder = Folder(tmp_path)
    folder.step()
    with target.open("ab") as file:
        file.write(b"two\n")
    shutil.copy(link, tmp_path / "server.log.1")
    os.truncate(link, 0)
    with target.open("ab") as file:
        file.write(b"three\n")
    folder.step()
    assert folder.data == b"one\ntwo\nthree\n"
