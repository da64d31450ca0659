"""The files that may hold records, under files and folders that a user names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from explain.model import Problem, reason_of
from explain.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

RECORD_SUFFIXES = (".json", ".jsonl", ".ndjson")
GENERATED = "sites"
"""The folder of the catalogue that holds no records."""


@dataclass(frozen=True, slots=True)
class RecordFile:
    """One file to read records from. `name` is what messages call it, `area` its folder's name."""

    path: str
    name: str
    area: str
    size: int
    changed: int

    @property
    def key(self) -> list[Any]:
        return [self.name, self.size, self.changed]


def record_files(paths: Sequence[Path], problems: list[Problem], base: Path | None = None) -> list[RecordFile]:
    """Every file that may hold records under files and folders, in a stable order.

    In a folder: `.json`, `.jsonl`, `.ndjson`, and any other file that starts like a record. Names in messages
    are as given, or relative to `base`.
    """
    # Strings, not paths: a checkout is walked at every start.
    found: dict[str, RecordFile] = {}
    prefix = f"{base}{os.sep}" if base else ""
    for path in paths:
        top = str(path)
        try:
            is_folder = path.is_dir()
            files = sorted(_inside(top, "", True)) if is_folder else [(top, "", path.stat())]
        except OSError as error:
            hint = "name a file or folder of records"
            problems.append(Problem(top, "", f"cannot be read: {reason_of(error)}", hint))
            continue
        if not files:
            problems.append(Problem(top, "", "holds no records", "name a folder of .json or .jsonl files"))
        cut = len(prefix) if prefix and top.startswith(prefix) else 0
        for file, area, status in files:
            name = file[cut:]
            if prefix and os.sep != "/":
                name = name.replace(os.sep, "/")
            found[name] = RecordFile(file, name, area, status.st_size, status.st_mtime_ns)
    return list(found.values())


def _inside(folder: str, area: str, top: bool = False) -> Iterator[tuple[str, str, os.stat_result]]:
    """The record files below a folder, each with its area. Hidden ones and links to folders are left out."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            if name.endswith(RECORD_SUFFIXES) and not entry.is_dir(follow_symlinks=False):
                yield entry.path, area, entry.stat()
            elif entry.is_dir(follow_symlinks=False):
                if not (top and name == GENERATED):
                    yield from _inside(entry.path, name)
            elif entry.is_file() and _starts_like_record(entry.path):
                yield entry.path, area, entry.stat()


def _starts_like_record(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return re.match(rb'(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*"', file.read(64)) is not None
    except OSError:
        return False
