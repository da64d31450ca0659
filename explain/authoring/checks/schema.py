"""Checks of a record's fields and names."""

from __future__ import annotations

import re

from explain.authoring.book import Book, Entry
from explain.authoring.checks.registry import check
from explain.fields import kind_of
from explain.record import DATASET_FIELDS, OUR_FIELDS

ERROR_TYPES = ("exception", "log", "native", "http", "exit")
STRATEGIES = (*("validation", "configuration", "upgrade", "retry", "environment", "capacity", "report", "ignore"),)


@check
def schema(entry: Entry, book: Book) -> None:
    """All fields of the dataset's version 2 are there, none is unknown, each has one of its values."""
    record, raw = entry.record, entry.record.raw
    for name in DATASET_FIELDS:
        if name not in raw:
            entry.says(f"/{name}", "is missing", "write null where there is nothing to say")
    for name in raw:
        if name not in DATASET_FIELDS and name not in OUR_FIELDS:
            entry.says(f"/{name}", "is not a field of the schema")
    if not re.fullmatch(r"[0-9a-f]{16}", record.id):
        entry.says("/id", f"is {record.id!r}", "16 hex digits, lower case")
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", record.slug):
        entry.says("/slug", f"is {record.slug!r}", "lower-case words joined by hyphens")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", str(raw.get("repo", ""))):
        entry.says("/repo", f"is {raw.get('repo')!r}", "owner/name of the repository the error comes from")
    if record.error_type not in ERROR_TYPES:
        entry.says("/errorType", f"is {record.error_type!r}", f"one of {', '.join(ERROR_TYPES)}")
    if raw.get("handlingStrategy") not in STRATEGIES:
        entry.says("/handlingStrategy", f"is {raw.get('handlingStrategy')!r}", f"one of {', '.join(STRATEGIES)}")
    if raw.get("schemaVersion") != 2:
        entry.says("/schemaVersion", f"is {raw.get('schemaVersion')!r}", "must be 2")
    for name in ("sourceCode", "sourceCodeStart", "sourceCodeEnd"):
        if raw.get(name) is not None:
            entry.says(f"/{name}", "is set", "no source code is shipped; write null")
    status = raw.get("httpStatus")
    if status is not None and (not isinstance(status, int) or not 400 <= status <= 599):
        entry.says("/httpStatus", f"is {status!r}", "an HTTP error status or null")
    if "role" not in raw:
        entry.says("/role", "is missing")
    for name in ("validationCode", "typeGuard", "tryCatchPattern", "errorCode", "backgroundTag"):
        if raw.get(name) is not None and not isinstance(raw[name], str):
            entry.says(f"/{name}", f"is {kind_of(raw[name])}, must be text or null")
    for index, tag in enumerate(record.tags):
        if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", tag):
            entry.says(f"/tags/{index}", f"is {tag!r}", "lower case, hyphens")
    if not record.source.endswith(f"/{record.slug}.json") and record.source != f"{record.slug}.json":
        entry.says("/slug", f"is {record.slug!r} in a file of another name", f"name the file {record.slug}.json")


@check
def unique(entry: Entry, book: Book) -> None:
    """No other record has the id or the slug."""
    for name in ("id", "slug"):
        value = getattr(entry.record, name)
        for other in book.named(value):
            if other is not entry:
                hint = "where messages are alike, derive the id from the place too" if name == "id" else ""
                entry.says(f"/{name}", f"{value} is also that of {other.record.source}", hint)
