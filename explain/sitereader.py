"""Reading a packed site index: a millisecond to open, each template unpacked when it is asked for."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

FORMAT = 3
MAGIC = b"sglang-explain sites\n"
BLOCK = 128
"""Templates that are compressed together: fewer cost space, more cost time for one look-up."""
EMPTY = b""
DAMAGED = "a damaged site index"


class PackError(ValueError):
    """The bytes are no site index of this format."""


def place_key(file: str, function: str) -> int:
    """32 bits for a file and a function in it."""
    return zlib.crc32(f"{file}\0{function}".encode())


def array_of(code: str, content: bytes) -> array[int]:
    """What `bytes_of` wrote, on whatever machine."""
    values = array(code, content)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def bytes_of(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


class SitePack:
    """A packed index. Every look-up unpacks the section it needs, once."""

    def __init__(self, content: bytes | memoryview) -> None:
        """Raises `PackError` where `content` is cut, or of another format; later, where a section that is asked for
        is damaged."""
        start = len(MAGIC) + 8
        if content[: len(MAGIC)] != MAGIC or len(content) < start:
            raise PackError("not a site index")
        length, check = struct.unpack_from("<II", content, len(MAGIC))
        # Each section has a check of its own: to look at all of them would be a good part of the start.
        head = bytes(content[start : start + length])
        if zlib.crc32(head) != check:
            raise PackError(DAMAGED)
        header = json.loads(head)
        self._body = memoryview(content)[start + length :]
        if header.get("format") != FORMAT:
            raise PackError(f"a site index of format {header.get('format')}, this program reads {FORMAT}")
        if header["size"] != len(self._body):
            raise PackError(DAMAGED)
        self.digest: str = header["digest"]
        self.versions: tuple[str, ...] = tuple(header["versions"])
        self.class_names: list[str] = header["class names"]
        self.kind_names: list[str] = header["kind names"]
        self._count: int = header["count"]
        self._apart: int = header["histories"]
        self._sections: dict[str, list[int]] = header["sections"]
        self._block = lru_cache(maxsize=64)(self._unpack_block)
        self._entry = lru_cache(maxsize=4096)(self._unpack_entry)
        self._text = lru_cache(maxsize=4)(self._unpack_text)

    def __len__(self) -> int:
        return self._count

    def section(self, name: str) -> bytes:
        """The content of a section, empty where the index has none of that name."""
        if name not in self._sections:
            return EMPTY
        return self._unpacked(*self._sections[name])

    def _unpacked(self, start: int, length: int) -> bytes:
        try:
            return zlib.decompress(self._body[start : start + length])
        except zlib.error:
            raise PackError(DAMAGED) from None

    @cached_property
    def order(self) -> dict[str, int]:
        """The number of each release."""
        return {version: number for number, version in enumerate(self.versions)}

    @cached_property
    def needles(self) -> list[str]:
        """One for each template, "" for none."""
        return self.section("needles").decode().split("\n") if self._count else []

    @cached_property
    def has_needle(self) -> bytes:
        """For each template whether it has one, without reading them all."""
        return self.section("has needle")

    @cached_property
    def lengths(self) -> array[int]:
        return array_of("H", self.section("lengths"))

    @cached_property
    def _classes(self) -> array[int]:
        return array_of("H", self.section("classes"))

    @cached_property
    def _kinds(self) -> array[int]:
        return array_of("H", self.section("kinds"))

    @cached_property
    def _places(self) -> tuple[array[int], array[int], array[int]]:
        return tuple(array_of("I", self.section(name)) for name in ("keys", "ends", "numbers"))  # type: ignore[return-value]

    def is_followed(self, file: str) -> bool:
        """Whether the index has the line history of a file."""
        return bool(self._named("histories", file))

    def history_of(self, file: str) -> bytes:
        """The line history of a file (see `linetracks`), empty for a file that is not followed."""
        found = self._named("histories", file)
        if not found:
            return EMPTY
        start, length = map(int, found[0].split())
        return self._unpacked(self._apart + start, length)

    def class_of(self, number: int) -> str:
        return self.class_names[self._classes[number]]

    def kind_of(self, number: int) -> str:
        return self.kind_names[self._kinds[number]]

    def at_place(self, file: str, function: str) -> array[int]:
        """The templates of a function; other functions' may be among them (the key has 32 bits)."""
        keys, ends, numbers = self._places
        key = place_key(file, function)
        row = bisect_left(keys, key)
        if row == len(keys) or keys[row] != key:
            return array("I")
        return numbers[ends[row - 1] if row else 0 : ends[row]]

    def entry(self, number: int) -> dict[str, Any]:
        """The template as its line in the text index says it, without its id."""
        found: dict[str, Any] = self._entry(number)
        return found

    def _unpack_entry(self, number: int) -> dict[str, Any]:
        entry: dict[str, Any] = json.loads(self._block(number // BLOCK)[number % BLOCK])
        return entry

    def _unpack_block(self, number: int) -> list[bytes]:
        return self.section(f"block {number}").split(b"\n")

    def blocks(self) -> list[bytes]:
        """Every template as a line of JSON, in order, so many in each block: for looking through the whole index."""
        return [self.section(f"block {start // BLOCK}") for start in range(0, self._count, BLOCK)]

    def lines(self) -> list[bytes]:
        """The same line by line."""
        return [line for block in self.blocks() for line in block.split(b"\n")]

    def _named(self, section: str, name: str) -> list[bytes]:
        """What stands behind a name in the lines of a section."""
        # Looked up in the text: to make a table of all names takes longer than the few look-ups of a run.
        text, mark = self._text(section), f"\n{name}\t".encode()
        found: list[bytes] = []
        start = text.find(mark)
        while start >= 0:
            end = text.find(b"\n", start + len(mark))
            found.append(text[start + len(mark) : end])
            start = text.find(mark, end)
        return found

    def _unpack_text(self, section: str) -> bytes:
        return b"\n%b\n" % self.section(section)

    def rows_named(self, registry: str, name: str) -> list[dict[str, Any]]:
        """The rows of `flags` (a flag as `normalised` spells it) or `environment` that have a name."""
        return [json.loads(row) for row in self._named(f"registry {registry}", name)]

    def registry(self, name: str) -> list[dict[str, Any]]:
        """`flags` or `environment`, every row."""
        rows = (line.partition(b"\t")[2] for line in self.section(f"registry {name}").splitlines())
        return list(json.loads(b"[%b]" % b",".join(rows)))

    @cached_property
    def fields(self) -> Mapping[str, str]:
        """The server arguments that releases print, with those releases (`0.5.1..0.5.3,0.5.6`)."""
        rows = (line.partition("\t") for line in self.section("registry fields").decode().splitlines())
        return {name: releases for name, _, releases in rows}

    def shapes(self, starts: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The templates of log messages that start so, each with its releases."""
        lines = self.section("extra shapes").decode().split("\n")
        for start in filter(None, starts):
            row = bisect_left(lines, start)
            while row < len(lines) and lines[row].startswith(start):
                template, _, releases = lines[row].rpartition("\t")
                yield template, releases
                row += 1
