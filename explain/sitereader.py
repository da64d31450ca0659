"""Reading a packed site index: a millisecond to open, each template unpacked when it is asked for."""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from bisect import bisect_left
from functools import cached_property, lru_cache
from typing import Any

import orjson

FORMAT = 2
MAGIC = b"sglang-explain sites\n"
BLOCK = 128
"""Templates that are compressed together: fewer cost space, more cost time for one look-up."""
EMPTY = b""


class PackError(ValueError):
    """The bytes are no site index of this format."""


def place_key(file: str, function: str) -> int:
    """32 bits for a file and a function in it."""
    return zlib.crc32(f"{file}\0{function}".encode())


def _array(code: str, content: bytes) -> array[int]:
    values = array(code, content)
    if sys.byteorder == "big":
        values.byteswap()
    return values


class SitePack:
    """A packed index. Every look-up unpacks the section it needs, once."""

    def __init__(self, content: bytes | memoryview) -> None:
        """Raises `PackError` where `content` is damaged, cut, or of another format."""
        start = len(MAGIC) + 8
        if content[: len(MAGIC)] != MAGIC or len(content) < start:
            raise PackError("not a site index")
        length, check = struct.unpack_from("<II", content, len(MAGIC))
        if zlib.crc32(memoryview(content)[start:]) != check:
            raise PackError("a damaged site index")
        header = orjson.loads(content[start : start + length])
        self._body = memoryview(content)[start + length :]
        if header.get("format") != FORMAT:
            raise PackError(f"a site index of format {header.get('format')}, this program reads {FORMAT}")
        self.digest: str = header["digest"]
        self.versions: tuple[str, ...] = tuple(header["versions"])
        self.class_names: list[str] = header["class names"]
        self.kind_names: list[str] = header["kind names"]
        self._count: int = header["count"]
        self._apart: int = header["histories"]
        self._sections: dict[str, list[int]] = header["sections"]
        self._block = lru_cache(maxsize=64)(self._unpack_block)
        self._entry = lru_cache(maxsize=4096)(self._unpack_entry)

    def __len__(self) -> int:
        return self._count

    def section(self, name: str) -> bytes:
        """The content of a section, empty where the index has none of that name."""
        if name not in self._sections:
            return EMPTY
        start, length = self._sections[name]
        return zlib.decompress(self._body[start : start + length])

    @cached_property
    def order(self) -> dict[str, int]:
        """The number of each release."""
        return {version: number for number, version in enumerate(self.versions)}

    @cached_property
    def needles(self) -> list[str]:
        """One for each template, "" for none."""
        return self.section("needles").decode().split("\n") if self._count else []

    @cached_property
    def lengths(self) -> array[int]:
        return _array("H", self.section("lengths"))

    @cached_property
    def _classes(self) -> array[int]:
        return _array("H", self.section("classes"))

    @cached_property
    def _kinds(self) -> array[int]:
        return _array("H", self.section("kinds"))

    @cached_property
    def _places(self) -> tuple[array[int], array[int], array[int]]:
        return tuple(_array("I", self.section(name)) for name in ("keys", "ends", "numbers"))  # type: ignore[return-value]

    @cached_property
    def _history_places(self) -> dict[str, tuple[int, int]]:
        places: dict[str, tuple[int, int]] = {}
        start = self._apart
        for line in self.section("histories").decode().splitlines():
            name, _, length = line.partition("\t")
            places[name] = (start, int(length))
            start += int(length)
        return places

    def lines_of(self, file: str) -> list[str]:
        """The line history of a file (see `linehistory`), empty for a file that is not followed."""
        if file not in self._history_places:
            return []
        start, length = self._history_places[file]
        return zlib.decompress(self._body[start : start + length]).decode().splitlines()

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
        entry: dict[str, Any] = orjson.loads(self._block(number // BLOCK)[number % BLOCK])
        return entry

    def _unpack_block(self, number: int) -> list[bytes]:
        return self.section(f"block {number}").split(b"\n")

    def lines(self) -> list[bytes]:
        """Every template as a line of JSON, in order: for looking through the whole index."""
        return [line for start in range(0, self._count, BLOCK) for line in self._block(start // BLOCK)]

    def registry(self, name: str) -> list[dict[str, Any]]:
        """`flags`, `environment` or `fields`, every row."""
        return [orjson.loads(line) for line in self.section(f"registry {name}").split(b"\n") if line]
