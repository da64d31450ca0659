"""The packed catalogue: an index of all records, and their JSON one after the other.

Whatever starts the program reads the index only; a record is parsed when something matched it. `packing.py`
makes packs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import orjson

from explain.cache import read_cached, write_cached
from explain.model import Problem, Record
from explain.recordfiles import RecordFile
from explain.values import dataclass, field

FORMAT = 5
"""To be raised when packing comes to other results for the same records."""
MAGIC = b"sglang-explain catalogue\n"


@dataclass(slots=True)
class Index:
    """Columns with one value for each record, in the order of the pack."""

    ids: list[str] = field(default_factory=list)
    slugs: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    classes: list[str | None] = field(default_factory=list)
    frames: list[list[str]] = field(default_factory=list)
    needles: list[list[str]] = field(default_factory=list)
    caseless: list[bool] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    """How many characters each pattern fixes."""
    required: list[str] = field(default_factory=list)
    """What any text that a pattern matches must hold, packed by `required.py`."""
    areas: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Where each record's JSON ends in the body."""

    def copy_row(self, other: Index, row: int, end: int) -> None:
        for name in self.__slots__:
            if name != "ends":
                getattr(self, name).append(getattr(other, name)[row])
        self.ends.append(end)


@dataclass(slots=True)
class Pack:
    """A catalogue's index and body. `digest` changes with every record, `key` with every file."""

    index: Index
    body: bytes | memoryview
    files: list[list[Any]]
    """For each file its key, how many records it gave, and its problems."""
    key: str
    digest: str

    def __len__(self) -> int:
        return len(self.index.ids)

    def raw(self, row: int) -> bytes:
        start = self.index.ends[row - 1] if row else 0
        return bytes(self.body[start : self.index.ends[row]])

    def record(self, row: int) -> Record:
        from explain.fields import FieldReader
        from explain.record import read_record

        problems: list[Problem] = []
        reader = FieldReader(self.index.sources[row], "", problems)
        record = read_record(reader, orjson.loads(self.raw(row)), self.index.areas[row])
        if record is None:
            raise ValueError(f"the packed catalogue is damaged: {problems[0]}")
        return record

    def problems(self) -> list[Problem]:
        return [Problem(*problem) for file in self.files for problem in file[2]]


def files_key(files: Sequence[RecordFile]) -> str:
    """Changes when a file comes, goes, or is written."""
    return hashlib.sha256(orjson.dumps([FORMAT, [file.key for file in files]])).hexdigest()


def load_pack(content: bytes | memoryview) -> Pack | None:
    """The pack that `dump_pack` wrote, None for any other bytes."""
    start = len(MAGIC) + 8
    if content[: len(MAGIC)] != MAGIC or len(content) < start:
        return None
    body_start = start + int.from_bytes(content[len(MAGIC) : start], "big")
    try:
        head = orjson.loads(content[start:body_start])
        index = Index(**{name: head[name] for name in Index.__slots__})
        pack = Pack(index, memoryview(content)[body_start:], head["files"], head["key"], head["digest"])
        sound = head["format"] == FORMAT and len(pack.body) == head["size"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return pack if sound else None


def cached_pack(files: Sequence[RecordFile], name: str) -> Pack:
    """The pack of some files, from the cache where no file changed, else built and cached anew."""
    content = read_cached(name)
    known = load_pack(content) if content is not None else None
    if known is not None and known.key == files_key(files):
        return known
    from explain.packing import build_pack, dump_pack

    pack = build_pack(files, known=known)
    write_cached(name, dump_pack(pack))
    return pack
