"""Which files a followed source stands for, and which are earlier files of a log that is rotated."""

from __future__ import annotations

import glob
import os
from fnmatch import fnmatch
from pathlib import Path

from explain.expressions import expression
from explain.sources import looks_like_log

PACKED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")
"""What rotation packs. Such a file never grows, and what it holds was read before it was packed."""
_BEHIND = expression(r"[._-](?:\d[\dTZ:._+-]*|old|bak|backup|prev|previous|orig|save)(?:\.\d+)?")
"""What rotation puts behind a name: `.1`, `-20261130`, `.2026-11-30_08`, `.old`."""
_WITHIN = expression(r"[._-]\d{4}-?\d\d-?\d\d[\dTZ:._-]*")
"""What it puts before `.log`: a date. A number alone may be a rank."""


def is_earlier(other: str, name: str) -> bool:
    """Whether `other` is a name that rotation gives to an earlier file of the log `name`; packed ones are not."""
    if other == name or other.endswith(PACKED):
        return False
    if other.startswith(name):
        return _BEHIND.fullmatch(other, len(name)) is not None
    stem, dot, ending = name.rpartition(".")
    if not dot or not other.startswith(stem) or not other.endswith(f".{ending}"):
        return False
    return _WITHIN.fullmatch(other, len(stem), len(other) - len(ending) - 1) is not None


def rotated(path: str) -> list[str]:
    """The earlier files of a log that are there, the oldest first."""
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return []
    dated: list[tuple[int, str]] = []
    for other in names:
        if is_earlier(other, name):
            found = os.path.join(folder, other)
            try:
                dated.append((os.stat(found).st_mtime_ns, found))
            except OSError:
                continue  # it was moved on in this moment
    return [found for _, found in sorted(dated)]


def logs_of(source: str, followed: set[str]) -> list[str]:
    """The files that a source stands for now; a plain name stands for itself, whether it exists or not.

    Of a folder or a pattern, packed files and earlier files of a log that is there or `followed` are left out.
    Files come before links, which may lead to one of them.
    """
    if os.path.isdir(source):
        paths = [str(path) for path in Path(source).iterdir() if looks_like_log(path)]
    elif glob.has_magic(source) and not os.path.exists(source):
        paths = [path for path in glob.glob(source, recursive=True) if os.path.isfile(path)]
    else:
        return [source]
    names: dict[str, list[str]] = {}
    for path in {*paths, *followed}:
        folder, name = os.path.split(path)
        names.setdefault(folder, []).append(name)
    kept = [
        path
        for path in paths
        if not path.endswith(PACKED)
        and not any(is_earlier(os.path.basename(path), name) for name in names[os.path.dirname(path)])
    ]
    return sorted(kept, key=lambda path: (os.path.islink(path), path))


def belongs_to(path: str, source: str) -> bool:
    """Whether a log that may be away would be found by a folder or a pattern."""
    return Path(path).parent == Path(source) or (glob.has_magic(source) and fnmatch(path, source))


def watched(source: str) -> list[str]:
    """Paths whose folders are watched."""
    return [os.path.join(source, "x")] if os.path.isdir(source) else [source, *logs_of(source, set())]
