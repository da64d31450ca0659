"""The report as plain dictionaries and lists: what `json` and `jsonl` have in common.

The keys are a contract that scripts depend on; README.md lists them, `tests/contract.py` checks them.
Strings of the log are masked; records are given as they were read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from explain.model import (
    Finding,
    Frame,
    LaunchContext,
    Place,
    Problem,
    Record,
    Recovery,
    Report,
    SiteInfo,
    Stall,
    Stats,
)
from explain.render import safe
from explain.render.places import package_path

SCHEMA = "sglang-explain/1"
_DEEPEST = 12


def text(value: str) -> str:
    """A string of the log: secrets masked, no lone surrogates; otherwise unchanged."""
    return safe.mask(safe.well_formed(value))


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as JSON can hold it. What JSON has no word for (infinity, an enum, bytes) becomes a string."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return safe.well_formed(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {safe.well_formed(str(key)): plain(item, depth + 1) for key, item in value.items()}
    if depth < _DEEPEST and isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        return [plain(item, depth + 1) for item in value]
    return safe.well_formed(str(value))


def masked(value: Any, name: str = "") -> Any:
    """`plain(value)` with every secret in it masked, by the name of its field or by its own look."""
    if isinstance(value, Mapping):
        return {text(str(key)): masked(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(item, name) for item in value]
    value = plain(value)
    if isinstance(value, str):
        return safe.HIDDEN if value and safe.names_secret(name) else text(value)
    return value


def optional(value: str | None) -> str | None:
    return None if value is None else text(value)


def place(value: Place) -> dict[str, Any]:
    return {"source": text(value.source), "line": value.line, "time": optional(value.time)}


def frame(value: Frame | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {"file": text(package_path(value.file)), "line": value.line, "function": text(value.function)}


def site(value: SiteInfo | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "file": value.file,
        "function": value.function,
        "line": value.line,
        "first_version": value.first_version,
        "last_version": value.last_version,
    }


def record_brief(value: Record | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {"id": value.id, "slug": value.slug, "title": value.title, "severity": value.severity}


def captures(values: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = masked(values)
    return found


def finding(value: Finding) -> dict[str, Any]:
    return {
        "role": value.role,
        "count": value.count,
        "ranks": [text(rank) for rank in value.ranks],
        "first": place(value.first),
        "last": place(value.last),
        "exception": optional(value.exception),
        "message": text(value.message),
        "captures": captures(value.captures),
        "frame": frame(value.frame),
        "site": site(value.site),
        "confidence": round(value.confidence, 4),
        "record": None if value.record is None else plain(value.record.raw),
        "solutions": [text(solution) for solution in solutions(value)],
        "dropped": [{"solution": text(dropped.solution), "reason": text(dropped.reason)} for dropped in value.dropped],
        "first_ranks": [text(rank) for rank in value.first_ranks],
        "recovery": recovery(value.recovery),
        "stuck": [text(words) for words in value.stuck],
        "also": list(value.also),
        "caused_by": value.caused_by,
    }


def recovery(value: Recovery | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "state": value.state,
        "seconds": value.seconds,
        "place": None if value.place is None else place(value.place),
    }


def solutions(value: Finding) -> Sequence[str]:
    """The solutions in the order that fits the log; the record's own where none was worked out."""
    return value.solutions or (value.record.solutions if value.record else ())


def context(value: LaunchContext) -> dict[str, Any]:
    return {
        "sglang_version": optional(value.sglang_version),
        "version_evidence": [text(evidence) for evidence in value.version_evidence],
        "server_args": masked(value.server_args),
        "args_place": None if value.args_place is None else place(value.args_place),
        "command": optional(value.command),
        "model": optional(value.model),
        "quantization": optional(value.quantization),
        "gpu": optional(value.gpu),
        "attention_backend": optional(value.attention_backend),
        "ranks": [text(rank) for rank in value.ranks],
        "nodes": value.nodes,
        "memory": [
            {
                "step": step.step,
                "rank": text(step.rank),
                "available": step.available,
                "used": step.used,
                "place": place(step.place),
            }
            for step in value.memory
        ],
        "pools": [
            {
                "rank": text(pool.rank),
                "tokens": pool.tokens,
                "size": pool.size,
                "dtype": optional(pool.dtype),
                "place": place(pool.place),
            }
            for pool in value.pools
        ],
        "limits": masked(value.limits),
        "batches": [
            {
                "kind": one.kind,
                "rank": text(one.rank),
                "fields": masked(one.fields),
                "place": place(one.place),
            }
            for one in value.batches
        ],
        "lifetimes": [
            {
                "start": place(one.start),
                "ready": None if one.ready is None else place(one.ready),
                "failed": one.failed,
            }
            for one in value.lifetimes
        ],
        "changes": [
            {
                "argument": text(change.argument),
                "before": masked(change.before, change.argument),
                "after": masked(change.after, change.argument),
            }
            for change in value.changes
        ],
        "unfinished": [text(words) for words in value.unfinished],
        "stalled": None if value.stalled is None else stall(value.stalled),
    }


def stall(value: Stall) -> dict[str, Any]:
    return {
        "kind": value.kind,
        "seconds": round(value.seconds, 3),
        "place": place(value.place),
        "until": place(value.until),
        "running": value.running,
        "queued": value.queued,
        "step": value.step,
        "because": [text(words) for words in value.because],
    }


def sources(report: Report) -> list[dict[str, Any]]:
    return [{"path": text(item.path), "lines": item.lines, "bytes": item.bytes} for item in report.sources]


def problem(value: Problem) -> dict[str, Any]:
    return {
        "path": text(value.path),
        "pointer": value.pointer,
        "message": text(value.message),
        "hint": value.hint,
    }


def stats(value: Stats) -> dict[str, Any]:
    return {
        "lines": value.lines,
        "bytes": value.bytes,
        "events": value.events,
        "seconds": round(value.seconds, 6),
    }


def encode(value: Any, *, indent: int | None = None) -> bytes:
    """UTF-8 JSON that ends in a line feed and disturbs no terminal: controls stand in it as `\\uXXXX`."""
    separators = (",", ": ") if indent else (", ", ": ")
    encoded = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return safe.escape_json(encoded).encode() + b"\n"
