"""Block -> Spots: one multi-pattern pass over raw bytes.

A spot says where one of our literals ends. Candidates may be false, never missing: what they mean is decided
on the event's own text. The scan frees the interpreter lock, so blocks can be scanned by several threads.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from explain.cache import prune_cached, read_unchecked, write_cached
from explain.digest import digest_of
from explain.owners import Owners

ANCHORS: tuple[bytes, ...] = (
    b"Traceback (most recent call last)",
    b", line ",
    b"Error: ",
    b"Exception: ",
    b"Exception in ",
    b"Error in ",
    b"hit an exception",
    b" ERROR ",
    b"ERROR: ",
    b"ERROR|",
    b": error: ",
    b"CRITICAL",
    b"FATAL",
    b"Fatal Python error",
    b"terminate called",
    b"panicked at ",
    b"  what(): ",
    b"NCCL WARN",
    b"exception=",
    b"UserWarning: ",
    b"During handling of the above",
    b"direct cause of the following",
    b"core dumped",
    b"server_args=",
    b"ServerArgs(",
    b"fired up and ready",
    b"avail mem=",
    b"mem usage=",
    b"KV Cache ",
    b"max_total_num_tokens=",
    b"device_name=NVIDIA",
)
"""Literals that lead to errors whatever their text is, and to the launch context."""

_FORMAT = "scan 2"
_CACHED = "scan-"
_KEPT_DATABASES = 8


class Scanner(Protocol):
    """Finds literals in bytes. `find` returns (literal number, end offset) pairs, ends rising.

    `ends` returns where literals end, rising, each place once: a hostile block has one at every fourth byte.
    """

    name: str

    def find(self, data: bytes) -> list[tuple[int, int]]: ...

    def ends(self, data: bytes) -> list[int]: ...


Literals = Sequence[tuple[bytes, bool]]
"""(bytes, caseless) each."""


def build_scanner(literals: Literals | Callable[[], Literals], key: str | None, *, force: str | None = None) -> Scanner:
    """A scanner for `literals`; Hyperscan where it is installed.

    `key` names the literals: under it the compiled database is kept in the user's cache, None for no cache. They
    are asked for only where there is no such database yet. `force` is "plain" or "hyperscan", for tests.
    """
    if force != "plain":
        try:
            return HyperscanScanner(literals, key)
        except ImportError:
            if force == "hyperscan":
                raise
    return PlainScanner(literals() if callable(literals) else literals)


def scan_key(key: str) -> str:
    """What names the literals of a scan, the program's own among them."""
    anchors = b"|".join(ANCHORS).decode()
    return digest_of("|".join((_FORMAT, anchors, key)))[:32]


class HyperscanScanner:
    """Hyperscan (the `hyperscan` package is Vectorscan with wheels). One scratch space a thread."""

    def __init__(self, literals: Literals | Callable[[], Literals], key: str | None) -> None:
        import hyperscan

        self._hyperscan = hyperscan
        self.name = f"hyperscan {getattr(hyperscan, '__version__', '')}".strip()
        # A compiled database is bound to the library and to the processor.
        name = f"{_CACHED}{scan_key('|'.join((self.name, _machine(), key or '')))}.hs"
        database = self._load(name) if key else None
        if database is None:
            database = self._compile(literals() if callable(literals) else literals)
            if key and write_cached(name, self._hyperscan.dumpb(database), check=False):
                prune_cached(_CACHED, _KEPT_DATABASES)
        self._database: Any = database
        self._local = threading.local()

    def _load(self, name: str) -> Any:
        """The cached database; None where it is missing, damaged or from another machine."""
        body = read_unchecked(name)
        if body is None:
            return None
        try:
            # Hyperscan checks it.
            database = self._hyperscan.loadb(body, self._hyperscan.HS_MODE_BLOCK)
            database.scratch = self._hyperscan.Scratch(database)
        except self._hyperscan.error:
            return None
        return database

    def _compile(self, literals: Literals) -> Any:
        flags = [self._hyperscan.HS_FLAG_CASELESS if caseless else 0 for _, caseless in literals]
        database = self._hyperscan.Database(mode=self._hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[literal for literal, _ in literals],
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=flags,
            literal=True,
        )
        return database

    def find(self, data: bytes) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        append = found.append

        def on_match(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append((number, end))

        self._scan(data, on_match)
        return found

    def ends(self, data: bytes) -> list[int]:
        found: set[int] = set()
        add = found.add

        def on_match(_number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            add(end)

        self._scan(data, on_match)
        return sorted(found)

    def _scan(self, data: bytes, on_match: Callable[[int, int, int, int, object], None]) -> None:
        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = self._database.scratch.clone()
        self._database.scan(data, match_event_handler=on_match, scratch=scratch)


def _machine() -> str:
    """The kind of machine, without the module `platform`: its import costs more than scanning a small log."""
    if hasattr(os, "uname"):
        return os.uname().machine
    return os.environ.get("PROCESSOR_ARCHITECTURE", "")


class PlainScanner:
    """The same results without Hyperscan, from one alternation of their first bytes, slower."""

    name = "plain"

    def __init__(self, literals: Literals) -> None:
        self._exact: dict[bytes, list[int]] = {}
        self._folded: dict[bytes, list[int]] = {}
        for number, (literal, caseless) in enumerate(literals):
            table = self._folded if caseless else self._exact
            table.setdefault(literal.lower() if caseless else literal, []).append(number)
        self._steps = [
            (_alternation(heads, folded), heads, sorted({len(head) for head in heads}), folded)
            for heads, folded in ((_heads(self._exact), False), (_heads(self._folded), True))
            if heads
        ]

    def find(self, data: bytes) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for pattern, heads, lengths, folded in self._steps:
            text = data.lower() if folded else data
            position = 0
            while match := pattern.search(text, position):
                start = match.start()
                for length in lengths:
                    for literal, numbers in heads.get(text[start : start + length], ()):
                        if text.startswith(literal, start):
                            found.extend((number, start + len(literal)) for number in numbers)
                position = start + 1
        found.sort(key=lambda pair: pair[1])
        return found

    def ends(self, data: bytes) -> list[int]:
        return sorted({end for _, end in self.find(data)})


_HEAD = 4


def _heads(table: dict[bytes, list[int]]) -> dict[bytes, list[tuple[bytes, list[int]]]]:
    """Literals by their first bytes: the alternation stays short, the rest is compared in place."""
    heads: dict[bytes, list[tuple[bytes, list[int]]]] = {}
    for literal, numbers in table.items():
        heads.setdefault(literal[:_HEAD], []).append((literal, numbers))
    return heads


def _alternation(heads: Iterable[bytes], folded: bool) -> re.Pattern[bytes]:
    return re.compile(b"|".join(re.escape(head) for head in heads), re.IGNORECASE if folded else 0)


def unique_literals(
    groups: Iterable[tuple[str, Sequence[tuple[str, bool, int]]]],
) -> tuple[list[tuple[bytes, bool]], Owners]:
    """Distinct literals and, for each, the (group, number) pairs that asked for it. Anchors come first."""
    numbers = {(anchor.decode(), False): number for number, anchor in enumerate(ANCHORS)}
    owners: list[list[tuple[str, int]]] = [[] for _ in numbers]
    for group, needles in groups:
        for text, caseless, owner in needles:
            number = numbers.setdefault((text, caseless), len(owners))
            if number == len(owners):
                owners.append([(group, owner)])
            else:
                owners[number].append((group, owner))
    return [(text.encode(), caseless) for text, caseless in numbers], Owners.of(owners)
