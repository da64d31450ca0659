"""Records -> a pack. Every pattern is compiled and tried, so a pack also holds what is wrong with those left out."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from explain.digest import digest_of
from explain.model import Problem, Record, reason_of
from explain.needles import Needle, needles, trap
from explain.pack import FORMAT, MAGIC, Index, Pack, files_key
from explain.pattern import Pattern, compile_error
from explain.record import read_records
from explain.recordfiles import RecordFile
from explain.required import requirement_of


def add(index: Index, record: Record, end: int) -> None:
    """Appends a record whose JSON ends at `end`."""
    found = needles_of(record)
    index.ids.append(record.id)
    index.slugs.append(record.slug)
    index.patterns.append(record.pattern)
    index.classes.append(record.error_class)
    index.frames.append(list(record.frames))
    index.needles.append([needle.text for needle in found])
    index.has_needles.append(bool(found))
    index.caseless.append(any(needle.caseless for needle in found))
    index.weights.append(Pattern(record.pattern).weight)
    index.required.append(requirement_of(record.pattern))
    index.areas.append(record.area)
    index.sources.append(record.source)
    index.ends.append(end)


def needles_of(record: Record) -> tuple[Needle, ...]:
    """The literals to find a record by.

    None where one of them is but the name of the exception class: it tells no more than the class does, and
    such a record is reached by its frames.
    """
    found = needles(record.pattern)
    name = (record.error_class or "").rpartition(".")[2]
    return () if any(needle.text in name for needle in found) else found


def build_pack(files: Sequence[RecordFile], *, known: Pack | None = None) -> Pack:
    """Packs the records of some files; rows of files that are the same in `known` are taken from it."""
    index, bodies, told, end = Index(), [], [], 0
    old = _rows_by_file(known) if known else {}
    for file in files:
        if (reuse := old.get(tuple(file.key))) is not None and known is not None:
            rows, problems = reuse
            for row in rows:
                bodies.append(known.raw(row))
                end += len(bodies[-1])
                index.copy_row(known.index, row, end)
            index.files.append([file.key, len(rows), problems])
            told += problems
            continue
        records, found = _usable_records(file)
        for record in records:
            bodies.append(orjson.dumps(record.raw))
            end += len(bodies[-1])
            add(index, record, end)
        listed = [[p.path, p.pointer, p.message, p.hint] for p in found]
        index.files.append([file.key, len(records), listed])
        told += listed
    body = b"".join(bodies)
    digest = digest_of(body + orjson.dumps([index.areas, index.needles, FORMAT]))
    return Pack(index, body, told, files_key(files), digest)


def _rows_by_file(pack: Pack) -> dict[tuple[Any, ...], tuple[range, list[Any]]]:
    rows: dict[tuple[Any, ...], tuple[range, list[Any]]] = {}
    start = 0
    for key, count, problems in pack.index.files:
        rows[tuple(key)] = (range(start, start + count), problems)
        start += count
    return rows


def _usable_records(file: RecordFile) -> tuple[list[Record], list[Problem]]:
    """The records of a file that an engine can use, and what is wrong with the others."""
    try:
        with open(file.path, "rb") as opened:
            text = opened.read()
    except OSError as error:
        return [], [Problem(file.name, "", f"cannot be read: {reason_of(error)}", "check its permissions")]
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


def dump_pack(pack: Pack) -> bytes:
    columns = pack.index.dump()
    stored = b"".join(columns.values())
    head = {
        "format": FORMAT,
        "key": pack.key,
        "digest": pack.digest,
        "problems": pack.told,
        "columns": {name: len(column) for name, column in columns.items()},
        "check": zlib.crc32(stored),
        "size": len(pack.body),
    }
    packed = json.dumps(head).encode()
    return b"".join((MAGIC, len(packed).to_bytes(8, "big"), packed, stored, pack.body))
