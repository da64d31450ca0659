"""Paths and bytes -> blocks."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.catalogue import Catalogue
from explain.engine import explain_sources
from explain.newlines import count_newlines
from explain.sources import Input, InputError, open_sources

LOG = "".join(f"[2026-11-30 08:00:00 TP{n}] líne {n}\n" for n in range(200))


def read(path: Path | str, block: int = 1024) -> str:
    return b"".join(one.data for one in Input(str(path), 0, None, block).blocks()).decode()


def zstd(data: bytes) -> bytes:
    return __import__("zstandard").ZstdCompressor().compress(data)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_compression_is_told_by_content(tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "server.log"
    path.write_bytes(compress(LOG.encode()))
    assert read(path) == LOG


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_concatenated_members_are_one_log(tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "server.log"
    path.write_bytes(compress(LOG.encode()) + compress(b"more\n"))
    assert read(path) == LOG + "more\n"


def test_gzip_is_read_without_the_fast_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(LOG.encode()) + gzip.compress(b"more\n"))
    assert read(path) == LOG + "more\n"


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd])
@pytest.mark.parametrize("damage", ["cut", "garbage behind"])
def test_what_a_broken_archive_holds_is_read_before_the_error(tmp_path: Path, compress, damage: str) -> None:  # type: ignore[no-untyped-def]
    data = "".join(f"{os.urandom(20).hex()} {n}\n" for n in range(20_000))
    path = tmp_path / "server.log.gz"
    packed = compress(data.encode())
    path.write_bytes(packed[: len(packed) * 2 // 3] if damage == "cut" else packed + b"garbage" * 9)
    got = b""
    with pytest.raises(InputError) as caught:
        for block in Input(str(path), 0, None, 1024).blocks():
            got += block.data
    whole = damage != "cut"
    assert data.startswith(got.decode()) and (len(got) > 1000 or compress is bz2.compress)
    assert len(got) == len(data) or not whole
    problem = caught.value.problem
    assert problem.path == str(path) and "cut off" in problem.message and problem.hint


def damaged_gzip(path: Path, damage: str) -> str:
    """Writes an archive of a text, which is smaller than a block, and damages it near its end."""
    text = "".join(f"{os.urandom(8).hex()} {n}\n" for n in range(20_000))
    packed = bytearray(gzip.compress(text.encode()))
    if damage == "cut":
        del packed[-1000:]
    else:
        packed[-8 if damage == "checksum" else -1000] ^= 0x55
    path.write_bytes(packed)
    return text


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("damage", ["cut", "checksum", "inside"])
def test_of_a_damaged_archive_all_but_the_damaged_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str, fast: bool
) -> None:
    if not fast:
        monkeypatch.setitem(sys.modules, "isal", None)
    text = damaged_gzip(tmp_path / "server.log.gz", damage)
    got = b""
    with pytest.raises(InputError):
        for block in Input(str(tmp_path / "server.log.gz"), 0).blocks():
            got += block.data
    assert len(got) > len(text) - 30_000
    if damage == "cut":
        assert text.startswith(got.decode())


def test_where_nothing_can_be_looked_at_ahead_it_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pread", broken, raising=False)
    path = tmp_path / "server.log"
    path.write_text(LOG * 20, "utf-8")
    assert read(path, 16 * 1024) == LOG * 20


def test_what_was_read_ahead_of_an_error_is_explained(tmp_path: Path) -> None:
    lines = "".join(f"[2026-11-30 08:00:00] {os.urandom(40).hex()} {n}\n" for n in range(40_000))
    path = tmp_path / "server.log.xz"
    path.write_bytes(lzma.compress(f"{lines}ValueError: the last words\n".encode()) + b"garbage")
    report = explain_sources([Input(str(path), 0)], Catalogue())
    assert [finding.message for finding in report.findings] == ["the last words"]
    assert len(report.problems) == 1


@pytest.mark.parametrize(
    "encoded",
    [
        LOG.encode(),
        b"\xef\xbb\xbf" + LOG.encode(),
        LOG.encode("utf-16"),
        b"\xfe\xff" + LOG.encode("utf-16-be"),
        LOG.encode("utf-16-le"),
        LOG.encode("utf-16-be"),
    ],
    ids=["utf-8", "utf-8-bom", "utf-16-bom", "utf-16-be-bom", "utf-16-le", "utf-16-be"],
)
def test_encodings(tmp_path: Path, encoded: bytes) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(encoded)
    assert read(path) == LOG


def test_bytes_that_are_no_text_pass_untouched(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    data = bytes(range(256)) * 20 + b"\n" + b"\0" * 5000
    path.write_bytes(data)
    blocks = []
    with pytest.raises(InputError, match="is not text"):
        blocks.extend(one.data for one in Input(str(path), 0).blocks())
    assert b"".join(blocks) == data


@pytest.mark.parametrize(
    "log",
    [
        "\u663e\u5b58\u4e0d\u8db3\n".encode("gbk") * 200,
        b"\0" * 100_000 + b"[2026-11-30 08:15:12] ready\n" * 100,
        b"\x01\0\0\0\0\0\0\x07loading" * 500,
        b"10%\b\b\b20%\b\b\b\x1b[2K\r" * 500,
    ],
    ids=["GBK", "copytruncate", "docker's frames", "progress"],
)
def test_odd_logs_are_text(tmp_path: Path, log: bytes) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(log)
    assert b"".join(one.data for one in Input(str(path), 0).blocks()) == log


@given(
    st.lists(st.integers(0, 90), max_size=60),
    st.lists(st.integers(1, 200), min_size=1, max_size=4),
    st.integers(8, 64),
)
def test_blocks_do_not_depend_on_the_reads(lengths: list[int], sizes: list[int], block: int) -> None:
    data = b"\n".join(b"\xc3\xa9" * (length // 2) + b"x" * (length % 2) for length in lengths)

    class Stream:
        def __init__(self, wanted: list[int]) -> None:
            self.position, self.turn, self.wanted = 0, 0, wanted

        def read(self, size: int) -> bytes:
            take = min(self.wanted[self.turn % len(self.wanted)], size)
            self.turn += 1
            piece = data[self.position : self.position + take]
            self.position += len(piece)
            return piece

    def blocks(wanted: list[int]) -> list[bytes]:
        return [one.data for one in Input("-", 0, Stream(wanted), block).blocks()]  # type: ignore[arg-type]

    def lines(found: list[bytes]) -> list[bytes]:
        """Pieces of one line stay apart, complete lines do not."""
        return [line for piece in found for line in piece.splitlines(keepends=True)]

    assert b"".join(blocks(sizes)) == data
    assert lines(blocks(sizes)) == lines(blocks([7]))
    for piece in blocks(sizes):
        piece.decode()


def test_directory_glob_and_dash(tmp_path: Path) -> None:
    (tmp_path / "pod").mkdir()
    for name in ("a.log", "pod/b.log", "c.py", ".hidden.log"):
        (tmp_path / name).write_text("x\n")
    stdin = io.BytesIO(b"y\n")
    inputs, problems = open_sources([str(tmp_path), str(tmp_path / "*.log"), "-", "-"], stdin)
    assert [os.path.basename(one.name) for one in inputs] == ["a.log", "b.log", "-"]
    assert [one.number for one in inputs] == [0, 1, 2]
    assert not problems


def test_bad_paths_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("x\n")
    (tmp_path / "empty").mkdir()
    wanted = [str(tmp_path / name) for name in ("servr.log", "server.log", "empty", "*.zip")]
    inputs, problems = open_sources(wanted, None)
    assert [one.name for one in inputs] == [wanted[1]]
    assert [problem.path for problem in problems] == [wanted[0], wanted[2], wanted[3]]
    assert "did you mean" in problems[0].hint
    assert all(problem.message and problem.hint for problem in problems)


def test_unreadable_file_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_text("x")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError) as caught:
        list(Input(str(path), 0).blocks())
    assert "permission denied" in str(caught.value)


def test_a_pipe_is_read_as_it_arrives() -> None:
    class Slow(io.RawIOBase):
        def __init__(self) -> None:
            self.lines = [b"first\n", b"second\n"]

        def read1(self, _size: int) -> bytes:
            return self.lines.pop(0) if self.lines else b""

    pieces = iter(Input("-", 0, Slow()).blocks())  # type: ignore[arg-type]
    assert b"first\n" in next(pieces).data


@given(st.lists(st.integers(0, 3000), max_size=60), st.integers(8192, 20_000), st.booleans())
def test_a_file_is_read_whole_whatever_its_lines(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], block: int, ends: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "server.log"
    data = b"\n".join(b"x" * length for length in lengths) + (b"\n" if ends else b"")
    path.write_bytes(data)
    blocks = list(Input(str(path), 0, None, block).blocks())
    assert b"".join(one.data for one in blocks) == data
    assert [one.offset for one in blocks] == [sum(len(one.data) for one in blocks[:n]) for n in range(len(blocks))]
    assert all(one.data.endswith(b"\n") for one in blocks[:-1])


@given(st.binary(max_size=300), st.integers(0, 310), st.integers(0, 310))
def test_line_ends_are_counted_in_any_piece(data: bytes, start: int, end: int) -> None:
    assert count_newlines(data, start, end) == data[start:end].count(b"\n")
