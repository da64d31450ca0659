"""Both scanners find the same literals; a cache never changes an answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.scanner import ANCHORS, HyperscanScanner, PlainScanner, build_scanner, unique_literals

LITERALS = [
    (b"Error: ", False),
    (b"out of memory", True),
    (b"memory leak", False),
    (b"Err", False),
    (b"aaaa", False),
]


@given(
    st.lists(
        st.sampled_from(["Error: ", "Out Of Memory", "memory", " leak", "aaa", "aa", "\n", "é", "Er"]),
        max_size=40,
    )
)
def test_plain_equals_hyperscan(parts: list[str]) -> None:
    pytest.importorskip("hyperscan")
    data = "".join(parts).encode()
    plain = sorted(PlainScanner(LITERALS).find(data))
    assert plain == sorted(_hyperscan().find(data))


def _hyperscan() -> HyperscanScanner:
    global _shared
    if _shared is None:
        _shared = HyperscanScanner(LITERALS, None)
    return _shared


_shared: HyperscanScanner | None = None


@pytest.mark.parametrize("damage", ["none", "truncated", "foreign", "empty"])
def test_a_damaged_cache_is_rebuilt(tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hyperscan")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    expected = HyperscanScanner(LITERALS, "five").find(b"an Error: out of memory")
    (file,) = tmp_path.glob("*/scan-*.hs")
    body = file.read_bytes()
    file.write_bytes({"none": body, "truncated": body[:-40], "foreign": b"x" * len(body), "empty": b""}[damage])
    assert HyperscanScanner(LITERALS, "five").find(b"an Error: out of memory") == expected
    assert file.read_bytes() == body


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hyperscan")
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked / "folder"))
    assert HyperscanScanner(LITERALS, "five").find(b"Error: ")


def test_a_database_of_other_anchors_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The anchors are numbered before everything else: one more of them renumbers the rest."""
    pytest.importorskip("hyperscan")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    groups = [("record", [("quick brown fox", False, 0)])]
    build_scanner(unique_literals(groups)[0], "key")
    monkeypatch.setattr("explain.scanner.ANCHORS", (*ANCHORS, b"a new anchor"))
    literals, owners = unique_literals(groups)
    ((number, _),) = build_scanner(literals, "key").find(b"the quick brown fox")
    assert list(owners[number]) == [("record", 0)]


def test_the_plain_scanner_is_used_where_hyperscan_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "hyperscan", None)
    assert build_scanner(LITERALS, None).name == "plain"


def test_equal_literals_are_scanned_once() -> None:
    literals, owners = unique_literals(
        [("record", [("abcd", False, 1)]), ("site", [("abcd", False, 7), ("abcd", True, 8)])]
    )
    assert literals[-2:] == [(b"abcd", False), (b"abcd", True)]
    assert (owners[len(owners) - 2], owners[len(owners) - 1]) == ([("record", 1), ("site", 7)], [("site", 8)])


def test_scans_from_several_threads_do_not_disturb_each_other() -> None:
    from concurrent.futures import ThreadPoolExecutor

    scanner = build_scanner(LITERALS, None)
    data = [os.urandom(1000) + b"Error: " * n for n in range(50)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(scanner.find, data)) == [scanner.find(one) for one in data]
