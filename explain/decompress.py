"""Compressed bytes -> plain bytes, told by their first bytes. Members that follow one another are one stream."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any, Protocol

READ_BYTES = 1024 * 1024
INPUT_BYTES = 4096
OUTPUT_BYTES = 16 * 1024
"""Small ones, in and out: what a piece held that turns out to be damaged is lost."""
PIECE_BYTES = 512
DECOMPRESSION_ERRORS = (EOFError, zlib.error, OSError, ValueError)


class Reader(Protocol):
    """What is needed of an opened source. `read` may return less than asked for, b"" only at the end."""

    def read(self, size: int, /) -> bytes: ...


class Decompressed:
    """A compressed stream as plain bytes; members that follow one another are read as one.

    It is taken in small pieces: where one is damaged, what stood before it goes out before its error.
    """

    def __init__(self, raw: Reader, first: bytes, new: Callable[[], Any]) -> None:
        self._raw = raw
        self._new = new
        self._machine: Any = new()
        self._input = first
        self._taken = 0
        self._failure: Exception | None = None

    def read(self, size: int, /) -> bytes:
        if self._failure is not None:
            raise self._failure
        found: list[bytes] = []
        length = 0
        while length < size:
            try:
                data = self._next(size - length, wait=not found)
            except DECOMPRESSION_ERRORS as error:
                if not found:
                    raise
                self._failure = error
                break
            if not data:
                break
            found.append(data)
            length += len(data)
        return b"".join(found)

    def _next(self, size: int, *, wait: bool) -> bytes:
        """Some of what comes next, b"" at the end, or where more is to be read first and `wait` is not set."""
        while True:
            if getattr(self._machine, "eof", False) and not self._begin_member(wait):
                return b""
            if not self._wants_input():
                piece = getattr(self._machine, "unconsumed_tail", b"")  # zlib keeps what it could not use yet
            else:
                if self._taken == len(self._input):
                    if not wait:
                        return b""
                    self._input, self._taken = self._raw.read(READ_BYTES), 0
                piece = self._input[self._taken : self._taken + INPUT_BYTES]
                self._taken += len(piece)
            data = self._step(piece, min(size, OUTPUT_BYTES))
            if data:
                return data
            if not self._input and not getattr(self._machine, "eof", False):
                raise EOFError("the compressed data ends early")

    def _begin_member(self, wait: bool) -> bool:
        """Whether another member follows the one that ended."""
        rest = (getattr(self._machine, "unused_data", b"") + self._input[self._taken :]).lstrip(b"\0")
        if not rest and wait:
            rest = self._raw.read(READ_BYTES).lstrip(b"\0")
        if rest:
            self._input, self._taken, self._machine = rest, 0, self._new()
        return bool(rest)

    def _wants_input(self) -> bool:
        return bool(getattr(self._machine, "needs_input", True)) and not getattr(self._machine, "unconsumed_tail", b"")

    def _step(self, piece: bytes, size: int) -> bytes:
        try:
            return bytes(self._machine.decompress(piece, size))
        except Exception as error:
            if type(error).__name__ in ("LZMAError", "IsalError"):  # known only where the library was imported
                raise OSError(str(error)) from None
            raise


class ZstandardFrame:
    """One frame, in the form of a decompressor of the standard library.

    Takes its input in small pieces: a piece that is damaged must not take along what stood before it, and one
    that expands a thousandfold must not fill the memory.
    """

    def __init__(self) -> None:
        import zstandard

        self._errors = zstandard.ZstdError
        self._machine = zstandard.ZstdDecompressor().decompressobj()
        self._input = b""
        self._taken = 0
        self._failure: str | None = None

    @property
    def eof(self) -> bool:
        return bool(self._machine.eof)

    @property
    def needs_input(self) -> bool:
        return self._taken >= len(self._input) and self._failure is None

    @property
    def unused_data(self) -> bytes:
        return bytes(self._machine.unused_data) + self._input[self._taken :]

    def decompress(self, data: bytes, size: int, /) -> bytes:
        """May return more than `size` bytes, by what one piece holds."""
        if data:
            self._input, self._taken = self._input[self._taken :] + data, 0
        if self._failure is not None:
            raise OSError(self._failure)
        found: list[bytes] = []
        length = 0
        while length < size and self._taken < len(self._input) and not self._machine.eof:
            piece = self._input[self._taken : self._taken + PIECE_BYTES]
            try:
                found.append(self._machine.decompress(piece))
            except self._errors as error:
                self._failure = str(error)
                if not found:
                    raise OSError(self._failure) from None
                break  # what stood before goes out first
            self._taken += len(piece)
            length += len(found[-1])
        return b"".join(found)


class Joined:
    """The bytes already read for sniffing, then the rest."""

    def __init__(self, first: io.BytesIO, rest: Reader) -> None:
        self._first: io.BytesIO | None = first
        self._rest = rest

    def read(self, size: int = READ_BYTES, /) -> bytes:
        if self._first is not None:
            data = self._first.read(size)
            if data:
                return data
            self._first = None
        return self._rest.read(size)


def _gzip_machine() -> Callable[[], Any]:
    """Makes what takes one gzip member apart: `isal` where it is installed, in two fifths of the time."""
    try:
        from isal import isal_zlib
    except ImportError:
        return lambda: zlib.decompressobj(wbits=31)
    return lambda: isal_zlib.decompressobj(wbits=31)


def decompressor(raw: Reader, first: bytes) -> tuple[Reader, str]:
    """The reader of the plain bytes and the name of the compression, "" for none."""
    if first.startswith(b"\x1f\x8b"):
        return Decompressed(raw, first, _gzip_machine()), "gzip"
    if first.startswith(b"BZh") and first[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        import bz2

        return Decompressed(raw, first, bz2.BZ2Decompressor), "bzip2"
    if first.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return Decompressed(raw, first, lzma.LZMADecompressor), "xz"
    if first.startswith(b"\x28\xb5\x2f\xfd"):
        return Decompressed(raw, first, ZstandardFrame), "zstd"
    return Joined(io.BytesIO(first), raw), ""
