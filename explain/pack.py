"""The packed catalogue: an index of all records, and their JSON one after the other.

Whatever starts the program reads the index only, and of that the columns it needs; a record is parsed when
something matched it. `packing.py` makes packs.
"""

from __future__ import annotations

# Not orjson: what is read here is little, and its import takes longer than that.
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from explain.cache import read_cached, write_cached
from explain.digest import digest_of
from explain.model import Problem, Record
from explain.recordfiles import RecordFile
from explain.values import dataclass

FORMAT = 6
"""To be raised when packing comes to other results for the same records."""
MAGIC = b"sglang-explain catalogue\n"


class Index:
    """Columns with one value for each record, in the order of the pack. A stored one is parsed when it is asked for."""

    ids: list[str]
    slugs: list[str]
    patterns: list[str]
    classes: list[str | None]
    frames: list[list[str]]
    needles: list[list[str]]
    has_needles: list[bool]
    caseless: list[bool]
    weights: list[int]
    """How many characters each pattern fixes."""
    required: list[str]
    """What any text that a pattern matches must hold, packed by `required.py`."""
    areas: list[str]
    sources: list[str]
    ends: list[int]
    """Where each record's JSON ends in the body."""
    files: list[list[Any]]
    """One for each file instead: its key, how many records it gave, and its problems."""

    def __init__(self, stored: Mapping[str, memoryview] | None = None) -> None:
        """An empty index to be filled, or that of columns as `dump` gives them."""
        self._stored = dict.fromkeys(COLUMNS, memoryview(b"[]")) if stored is None else stored

    def __getattr__(self, name: str) -> Any:
        if name not in COLUMNS:
            raise AttributeError(name)
        column = json.loads(bytes(self._stored[name]))
        setattr(self, name, column)
        return column

    def dump(self) -> dict[str, bytes]:
        """Every column as JSON."""
        return {name: json.dumps(getattr(self, name), separators=(",", ":")).encode() for name in COLUMNS}

    def copy_row(self, other: Index, row: int, end: int) -> None:
        for name in COLUMNS:
            if name not in ("ends", "files"):
                getattr(self, name).append(getattr(other, name)[row])
        self.ends.append(end)


COLUMNS = tuple(Index.__annotations__)


@dataclass(slots=True)
class Pack:
    """A catalogue's index and body. `digest` changes with every record, `key` with every file."""

    index: Index
    body: bytes | memoryview
    told: list[list[str]]
    """The problems of all files."""
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
        record = read_record(reader, json.loads(self.raw(row)), self.index.areas[row])
        if record is None:
            raise ValueError(f"the packed catalogue is damaged: {problems[0]}")
        return record

    def problems(self) -> list[Problem]:
        return [Problem(*problem) for problem in self.told]


def files_key(files: Sequence[RecordFile]) -> str:
    """Changes when a file comes, goes, or is written."""
    return digest_of(json.dumps([FORMAT, [file.key for file in files]]))


def load_pack(content: bytes | memoryview) -> Pack | None:
    """The pack that `dump_pack` wrote, None for any other bytes."""
    start = len(MAGIC) + 8
    if content[: len(MAGIC)] != MAGIC or len(content) < start:
        return None
    whole = memoryview(content)
    end = start + int.from_bytes(content[len(MAGIC) : start], "big")
    columns: dict[str, memoryview] = {}
    try:
        head = json.loads(bytes(whole[start:end]))
        begin = end
        for name in COLUMNS:
            start, end = end, end + head["columns"][name]
            columns[name] = whole[start:end]
        pack = Pack(Index(columns), whole[end:], head["problems"], head["key"], head["digest"])
        sound = head["format"] == FORMAT and len(pack.body) == head["size"]
        sound = sound and head["check"] == zlib.crc32(whole[begin:end])
    except (ValueError, KeyError, TypeError):
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
