"""Path, directory, glob, standard input, compressed file -> Blocks of UTF-8.

A block ends at a line end, so nothing that stands on one line is cut, unless the line is longer than a block.
Plain UTF-8 is passed on as it was read; memory does not grow with the input.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import FileIO
from typing import TYPE_CHECKING, BinaryIO

from explain.cutting import BLOCK_BYTES, LineCutter
from explain.decompress import DECOMPRESSION_ERRORS, Reader, decompressor
from explain.model import Block, Problem, reason_of
from explain.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

_SNIFFED = 4096
_JUDGED = 65_536
_PEEKED = 4096
"""Where the last line end of a block is looked for."""
_CONTROLS = bytes({*range(1, 32), 127} - set(b"\a\b\t\n\v\f\r\x1b"))
LOG_NAMES = (
    "*.log",
    "*.log.*",
    "*.txt",
    "*.out",
    "*.err",
    "*.json",
    "*.jsonl",
    "*.gz",
    "*.zst",
    "*.xz",
    "*.bz2",
)
"""What is read of a directory; what does not look like a log is left out."""
LOG_WORDS = ("stdout", "stderr", "messages", "syslog", "journal")


class InputError(Exception):
    """An input that cannot be read on. `problem` says where and what to try."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Input:
    """One source. `name` is what the user called it, "-" for standard input."""

    name: str
    number: int
    stream: BinaryIO | None = None
    block_bytes: int = BLOCK_BYTES

    def blocks(self) -> Iterator[Block]:
        """The decoded bytes in order. Raises `InputError` where reading fails, after what could be read."""
        if self.stream is not None:
            yield from _blocks(_Pipe(self.stream), self)
            return
        try:
            file = open(self.name, "rb", buffering=0)  # noqa: SIM115 - closed below, the error is ours to word
        except OSError as error:
            raise InputError(_cannot_read(self.name, error)) from None
        with file:
            yield from _blocks(_File(file), self)


class _File:
    """Reads up to a line end where it can: blocks then need not be put together from what two reads returned."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._position = 0
        self._looks_ahead = hasattr(os, "pread") and stat.S_ISREG(os.fstat(file.fileno()).st_mode)

    def read(self, size: int, /) -> bytes:
        data = self._file.read(self._to_line_end(size)) or b""
        self._position += len(data)
        return data

    def _to_line_end(self, size: int) -> int:
        """How much of `size` bytes to read; all of them where no line ends near the last one."""
        if not self._looks_ahead or size < 2 * _PEEKED:
            return size
        last = b""
        with suppress(OSError):  # where the disk is damaged, what stands before that can be read
            last = os.pread(self._file.fileno(), _PEEKED, self._position + size - _PEEKED)
        return size - _PEEKED + last.rfind(b"\n") + 1 if len(last) == _PEEKED and b"\n" in last else size


class _Pipe:
    """Reads what is there, never waiting for a full buffer: a live log arrives line by line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)

    def read(self, size: int, /) -> bytes:
        return self._read(size)


def open_sources(paths: Sequence[str], stdin: BinaryIO | None) -> tuple[list[Input], list[Problem]]:
    """The inputs that `paths` name, and what is wrong with the others.

    A directory stands for the logs in it, a pattern for the files it matches, `-` for `stdin`. Every file is
    read once, in the order given; files of a directory come sorted by name.
    """
    inputs: list[Input] = []
    problems: list[Problem] = []
    seen: set[tuple[int, int]] = set()
    for path in paths:
        if path == "-":
            if stdin is None:
                problems.append(Problem("-", "", "standard input is closed", "name a file instead"))
            elif all(one.stream is None for one in inputs):
                inputs.append(Input("-", len(inputs), stdin))
            continue
        for name in _expand(path, problems):
            identity = _identity(name)
            if identity in seen:
                continue
            if identity is not None:
                seen.add(identity)
            inputs.append(Input(name, len(inputs)))
    return inputs, problems


def _identity(name: str) -> tuple[int, int] | None:
    try:
        status = os.stat(name)
    except OSError:
        return None
    # Pipes and devices under /dev and /proc may be named twice on purpose.
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _expand(path: str, problems: list[Problem]) -> list[str]:
    """The files one argument stands for; none, with a problem told, where it stands for nothing."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        import glob

        if glob.has_magic(path):
            if found := sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name)):
                return found
            problems.append(Problem(path, "", "no file matches this pattern", "check it with ls"))
            return []
        problems.append(Problem(path, "", "no such file or directory", _nearby(path)))
        return []
    except (OSError, ValueError) as error:
        problems.append(_cannot_read(path, error))
        return []
    if not stat.S_ISDIR(mode):
        return [path]
    from pathlib import Path

    try:
        found = sorted(str(name) for name in Path(path).rglob("*") if looks_like_log(name))
    except OSError as error:
        problems.append(_cannot_read(path, error))
        return []
    if not found:
        names = ", ".join(LOG_NAMES[:5])
        problems.append(Problem(path, "", f"no logs in this directory (looked for {names}, …)", "name the files"))
    return found


def looks_like_log(path: Path) -> bool:
    name = path.name
    if name.startswith("."):
        return False
    if not (any(path.match(pattern) for pattern in LOG_NAMES) or any(word in name for word in LOG_WORDS)):
        return False
    return path.is_file()


def _nearby(path: str) -> str:
    """What to try instead of a name that is missing: one like it, where there is one."""
    import difflib

    if not path:
        return "the name is empty: check the variable it comes from"
    if "://" in path:
        return "fetch it first: curl -sSL URL | sglang-explain"
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return "check the path"
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return f"did you mean {os.path.join(folder, close[0])}?" if close else "check the path"


def _cannot_read(name: str, error: OSError | ValueError) -> Problem:
    if isinstance(error, PermissionError):
        return Problem(name, "", "permission denied", "run as a user who may read it, or pipe it in with sudo cat")
    if isinstance(error, OSError) and error.errno == errno.EISDIR:
        return Problem(name, "", "is a directory", "name the files in it")
    return Problem(name, "", f"cannot be read: {reason_of(error)}", "check the path and the disk")


# --------------------------------------------------------------------------- text


def _encoding(first: bytes) -> tuple[str | None, int]:
    """(encoding to decode from, bytes of its mark); (None, …) for UTF-8 and what only looks like text."""
    if first.startswith(codecs.BOM_UTF8):
        return None, 3
    if first.startswith(codecs.BOM_UTF16_LE) and not first.startswith(codecs.BOM_UTF32_LE):
        return "utf-16-le", 2
    if first.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be", 2
    pairs = len(first) // 2
    if pairs >= 8:
        low, high = first[0 : 2 * pairs : 2].count(0), first[1 : 2 * pairs : 2].count(0)
        if high > 0.7 * pairs and low < 0.1 * pairs:
            return "utf-16-le", 0
        if low > 0.7 * pairs and high < 0.1 * pairs:
            return "utf-16-be", 0
    return None, 0


def _blocks(raw: Reader, source: Input) -> Iterator[Block]:
    read = 0
    try:
        first = _first_bytes(raw)
        reader, compression = decompressor(raw, first)
    except (*DECOMPRESSION_ERRORS,) as error:
        raise InputError(_broken(source.name, "", read, error)) from None
    pending = LineCutter(source.number, source.block_bytes)
    decoder: codecs.IncrementalDecoder | None = None
    start, binary = True, False
    while True:
        try:
            data = reader.read(source.block_bytes)
        except DECOMPRESSION_ERRORS as error:
            yield from pending.finish()
            raise InputError(_broken(source.name, compression, read, error)) from None
        if start:
            start = False
            encoding, mark = _encoding(data[:_SNIFFED])
            data = data[mark:] if mark else data
            binary = not encoding and _is_binary(data[:_JUDGED])
            if encoding:
                decoder = codecs.getincrementaldecoder(encoding)("replace")
            if not data and mark:
                continue
        if not data:
            break
        read += len(data)
        if decoder is not None:
            data = decoder.decode(data).encode("utf-8", "replace")
        yield from pending.add(data)
    if decoder is not None and (rest := decoder.decode(b"", final=True)):
        yield from pending.add(rest.encode("utf-8", "replace"))
    yield from pending.finish()
    if binary:
        raise InputError(Problem(source.name, "", "is not text", "name the log itself, unpacked"))


def _is_binary(data: bytes) -> bool:
    """Whether no log begins like this. Holes of zeros, colours and other encodings are no reason."""
    text = data.replace(b"\0", b"")
    controls = len(text) - len(text.translate(None, _CONTROLS))
    if controls < max(16, 0.04 * len(text)):
        return False
    return text.decode("utf-8", "replace").count("\ufffd") > 0.05 * len(text)


def _first_bytes(raw: Reader) -> bytes:
    """Enough bytes to tell the compression; a pipe may give them one by one."""
    first = raw.read(_SNIFFED)
    while first and len(first) < 16 and (more := raw.read(_SNIFFED)):
        first += more
    return first


def _broken(name: str, compression: str, read: int, error: Exception) -> Problem:
    if compression:
        what = f"the {compression} data is broken or cut off after {read:,} bytes of text ({error})"
        return Problem(name, f"byte {read}", what, "what was readable is explained; fetch the file again")
    if isinstance(error, OSError):
        return _cannot_read(name, error)
    return Problem(name, f"byte {read}", f"cannot be read on: {error}", "check the file")
