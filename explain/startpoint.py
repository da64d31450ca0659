"""Where following begins in a file that exists, and what is looked at before that."""

from __future__ import annotations

import codecs
import os
import stat

from explain.newlines import count_newlines

STEP_BYTES = 256 * 1024
LOOK_BACK_BYTES = 16 * 1024 * 1024


def start_of(path: str, wanted: str) -> tuple[int, int]:
    """(byte, line) at which following begins: at "start", "end" or a number of lines before the end.

    A line that has not ended yet is read whole. The start where the file cannot be read.
    """
    if wanted == "start" or not os.path.isfile(path):
        return 0, 1  # a named pipe: opening it here would wait for its writer and take bytes away
    try:
        offset = _last_lines(path, os.path.getsize(path), 0 if wanted == "end" else int(wanted))
        return offset, 1 + _count_lines(path, offset)
    except OSError:
        return 0, 1


def is_wide(path: str) -> bool:
    """Whether a file begins as UTF-16 text does, as PowerShell redirects it."""
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    except OSError:
        return False


def look_back(path: str, end: int) -> tuple[bytes, int]:
    """(what the last server of a log wrote before `end`, the number of its first line).

    A failure that an earlier server had is over. At most `LOOK_BACK_BYTES` are looked at. Raises OSError.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        return b"", 1
    start = max(end - LOOK_BACK_BYTES, 0)
    with open(path, "rb") as file:
        file.seek(start)
        if start:
            file.readline()
        begin = file.tell()
        data = file.read(max(end - begin, 0))
    life = data.rfind(b"\n", 0, max(data.rfind(b"server_args="), 0)) + 1
    return data[life:], 1 + _count_lines(path, begin + life)


def _last_lines(path: str, size: int, count: int) -> int:
    """Where the last `count` complete lines begin."""
    position, found = size, -1
    with open(path, "rb") as file:
        while position > 0:
            start = max(position - STEP_BYTES, 0)
            file.seek(start)
            data = file.read(position - start)
            end = len(data)
            while (newline := data.rfind(b"\n", 0, end)) >= 0:
                found += 1
                if found >= count:
                    return start + newline + 1
                end = newline
            position = start
    return 0


def _count_lines(path: str, end: int) -> int:
    count = 0
    with open(path, "rb") as file:
        while end > 0:
            data = file.read(min(end, 4 * STEP_BYTES))
            if not data:
                break
            count += count_newlines(data)
            end -= len(data)
    return count
