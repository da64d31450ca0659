"""The packed catalogue: an index of all records, and their JSON one after the other.

Whatever starts the program reads the index only; a record is parsed when something matched it. Packing
compiles and tries every pattern, so the pack also holds what is wrong with the records that were left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from explain.cache import read_cached, write_cached
from explain.fields import FieldReader
from explain.model import Problem, Record
from explain.pattern import Needle, compile_error, needles, trap
from explain.record import read_record, read_records
from explain.recordfiles import RecordFile

FORMAT = 3
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
    areas: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Where each record's JSON ends in the body."""

    def add(self, record: Record, end: int) -> None:
        found = needles_of(record)
        self.ids.append(record.id)
        self.slugs.append(record.slug)
        self.patterns.append(record.pattern)
        self.classes.append(record.error_class)
        self.frames.append(list(record.frames))
        self.needles.append([needle.text for needle in found])
        self.caseless.append(any(needle.caseless for needle in found))
        self.areas.append(record.area)
        self.sources.append(record.source)
        self.ends.append(end)

    def copy_row(self, other: Index, row: int, end: int) -> None:
        for name in self.__slots__:
            if name != "ends":
                getattr(self, name).append(getattr(other, name)[row])
        self.ends.append(end)


def needles_of(record: Record) -> tuple[Needle, ...]:
    """The literals to find a record by.

    None where one of them is but the name of the exception class: it tells no more than the class does, and
    such a record is reached by its frames.
    """
    found = needles(record.pattern)
    name = (record.error_class or "").rpartition(".")[2]
    return () if any(needle.text in name for needle in found) else found


@dataclass(slots=True)
class Pack:
    """A catalogue's index and body. `digest` changes with every record, `key` with every file."""

    index: Index
    body: bytes
    files: list[list[Any]]
    """For each file its key, how many records it gave, and its problems."""
    key: str
    digest: str

    def __len__(self) -> int:
        return len(self.index.ids)

    def raw(self, row: int) -> bytes:
        start = self.index.ends[row - 1] if row else 0
        return self.body[start : self.index.ends[row]]

    def record(self, row: int) -> Record:
        problems: list[Problem] = []
        reader = FieldReader(self.index.sources[row], "", problems)
        record = read_record(reader, orjson.loads(self.raw(row)), self.index.areas[row])
        if record is None:
            raise ValueError(f"the packed catalogue is damaged: {problems[0]}")
        return record

    def problems(self) -> list[Problem]:
        return [Problem(*problem) for file in self.files for problem in file[2]]


def build_pack(files: Sequence[RecordFile], *, known: Pack | None = None) -> Pack:
    """Packs the records of some files; rows of files that are the same in `known` are taken from it."""
    index, bodies, written, end = Index(), [], [], 0
    old = _rows_by_file(known) if known else {}
    for file in files:
        if (reuse := old.get(tuple(file.key))) is not None and known is not None:
            rows, problems = reuse
            for row in rows:
                bodies.append(known.raw(row))
                end += len(bodies[-1])
                index.copy_row(known.index, row, end)
            written.append([file.key, len(rows), problems])
            continue
        records, found = _usable_records(file)
        for record in records:
            bodies.append(orjson.dumps(record.raw))
            end += len(bodies[-1])
            index.add(record, end)
        listed = [[p.path, p.pointer, p.message, p.hint] for p in found]
        written.append([file.key, len(records), listed])
    body = b"".join(bodies)
    digest = hashlib.sha256(body + orjson.dumps([index.areas, index.needles, FORMAT])).hexdigest()
    return Pack(index, body, written, files_key(files), digest)


def _rows_by_file(pack: Pack) -> dict[tuple[Any, ...], tuple[range, list[Any]]]:
    rows: dict[tuple[Any, ...], tuple[range, list[Any]]] = {}
    start = 0
    for key, count, problems in pack.files:
        rows[tuple(key)] = (range(start, start + count), problems)
        start += count
    return rows


def _usable_records(file: RecordFile) -> tuple[list[Record], list[Problem]]:
    """The records of a file that an engine can use, and what is wrong with the others."""
    try:
        with open(file.path, "rb") as opened:
            text = opened.read()
    except OSError as error:
        return [], [Problem(file.name, "", f"cannot be read: {error.strerror}", "check its permissions")]
    records, problems = read_records(Path(file.name), text, file.area)
    usable = []
    for record in records:
        reason = unusable(record)
        if reason is None:
            usable.append(record)
        else:
            what = f"record {record.slug} is left out: messagePattern {reason[0]}"
            problems.append(Problem(file.name, f"record {record.id}", what, reason[1]))
    return usable, problems


def unusable(record: Record) -> tuple[str, str] | None:
    """Why an engine cannot use a record's pattern, with the next thing to try; None where it can."""
    reason = compile_error(record.pattern)
    if reason is not None:
        return f"does not compile: {reason}", "Python `regex` syntax"
    if not (record.error_class or record.frames) and not needles_of(record):
        return (
            "has no literal text to find it by",
            "each alternative needs 4 plain characters in a row, or set errorClass or frames",
        )
    if trap(record.pattern, record.error_message, length=2000) is not None:
        return "is too slow", "no nested quantifiers such as (a+)+"
    return None


def files_key(files: Sequence[RecordFile]) -> str:
    """Changes when a file comes, goes, or is written."""
    return hashlib.sha256(orjson.dumps([FORMAT, [file.key for file in files]])).hexdigest()


def dump_pack(pack: Pack) -> bytes:
    columns = {name: getattr(pack.index, name) for name in Index.__slots__}
    head = {
        "format": FORMAT,
        "key": pack.key,
        "digest": pack.digest,
        "files": pack.files,
        "size": len(pack.body),
        **columns,
    }
    packed = orjson.dumps(head)
    return b"".join((MAGIC, len(packed).to_bytes(8, "big"), packed, pack.body))


def load_pack(content: bytes) -> Pack | None:
    """The pack that `dump_pack` wrote, None for any other bytes."""
    start = len(MAGIC) + 8
    if not content.startswith(MAGIC) or len(content) < start:
        return None
    body_start = start + int.from_bytes(content[len(MAGIC) : start], "big")
    try:
        head = orjson.loads(content[start:body_start])
        index = Index(**{name: head[name] for name in Index.__slots__})
        pack = Pack(index, content[body_start:], head["files"], head["key"], head["digest"])
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
    pack = build_pack(files, known=known)
    write_cached(name, dump_pack(pack))
    return pack
