"""Labelled contexts of the shared logs: what a reader must know of each, and the comparison with a report.

`labels/*.json` hold, for each log by name, what stands in it, read by eye. A key that a label lacks means that
the log does not tell it, and then the report must not either. Keys: `release` (a release or a range; null for
a log that no release of SGLang wrote; left out where nobody knows), `release_told` (whether the log has enough
of it that a range must be named), `model`, `args`, `command`, `quantization`, `gpu`, `attention_backend`,
`ranks`, `nodes`, `memory` (step, rank, available, used), `pools` (rank, tokens, size), `limits`, `batches`
(kind, rank, fields: the last before the first failure), `lifetimes` (starts that show), `first_ranks`,
`recovery` (null where the log does not tell; left out where nothing failed) and `seconds`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explain.authoring.harvest_tree import version_key
from explain.model import LaunchContext, Report
from tests.scoring import SHARED, cases, real_logs

LABELS = Path(__file__).parent / "labels"


@dataclass(frozen=True, slots=True)
class Answer:
    """One question to a report. `told` says whether the log tells it; if not, the report must be silent."""

    question: str
    right: bool
    told: bool
    answer: object


def labels(name: str) -> dict[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = json.loads((LABELS / f"{name}.json").read_text(encoding="utf-8"))
    return read


def shared_logs() -> list[tuple[str, str | bytes, dict[str, Any]]]:
    """(name, log, label) of every case and real log; empty where they are not here."""
    of_cases, of_real = labels("cases"), labels("real_logs")
    found: list[tuple[str, str | bytes, dict[str, Any]]] = [
        (name, case["log"], of_cases[name]) for name, case in cases() if name in of_cases
    ]
    found += [(name, log.read_bytes(), of_real[name]) for name, _, log in real_logs() if name in of_real]
    healthy = ((SHARED / "real_logs" / "healthy" / f"{name}.log", label) for name, label in labels("healthy").items())
    return found + [(path.stem, path.read_bytes(), label) for path, label in healthy if path.is_file()]


def fields(label: Mapping[str, Any], report: Report) -> Iterator[Answer]:
    context = report.context
    yield from _release(label, context)
    for name, told in (
        ("model", context.model),
        ("command", context.command),
        ("quantization", context.quantization),
        ("gpu", context.gpu),
        ("attention_backend", context.attention_backend),
        ("nodes", context.nodes),
    ):
        yield Answer(name, told == label.get(name), name in label, told)
    yield from _each("args", label.get("args", {}), context.server_args)
    yield Answer("ranks", set(context.ranks) == set(label.get("ranks", ())), "ranks" in label, context.ranks)
    memory: dict[str, list[tuple[float | None, float | None]]] = {}
    for step in context.memory:
        memory.setdefault(f"{step.step} {step.rank}", []).append((step.available, step.used))
    wanted: dict[str, list[tuple[float | None, float | None]]] = {}
    for step_name, rank, available, used in label.get("memory", ()):
        wanted.setdefault(f"{step_name} {rank}", []).append((available, used))
    yield from _each("memory", wanted, memory)
    pools = {pool.rank: (pool.tokens, round(pool.size, 2)) for pool in context.pools}
    yield from _each("pools", {rank: (tokens, size) for rank, tokens, size in label.get("pools", ())}, pools)
    yield from _each("limits", label.get("limits", {}), context.limits)
    batches = {f"{one.kind} {one.rank}": dict(one.fields) for one in context.batches}
    yield from _each("batches", {f"{kind} {rank}": of for kind, rank, of in label.get("batches", ())}, batches)
    yield Answer(
        "lifetimes",
        len(context.lifetimes) == label.get("lifetimes", 0),
        "lifetimes" in label,
        context.lifetimes,
    )
    yield Answer("changes", not context.changes, False, context.changes)
    yield Answer("unfinished", not context.unfinished, False, context.unfinished)


def first_ranks(label: Mapping[str, Any], report: Report) -> Iterator[Answer]:
    if not report.findings:
        return
    first = report.findings[0]
    told = first.first_ranks or (first.ranks if len(first.ranks) == 1 and first.ranks[0] else ())
    if "first_ranks" in label:
        yield Answer("first_ranks", list(told) == label["first_ranks"], True, told)
    else:  # where clocks do not tell, no rank is said to be the first of several
        yield Answer("first_ranks", not first.first_ranks, False, first.first_ranks)


def recovery(label: Mapping[str, Any], report: Report) -> Iterator[Answer]:
    if "recovery" not in label:
        return
    causes = [one for one in report.findings if one.role == "cause"]
    after = causes[0].recovery if causes else None
    state = after.state if after else "unknown"
    wanted = label["recovery"] or "unknown"
    told = label["recovery"] is not None
    if not causes and told and report.findings and report.findings[0].role == "consequence":
        return  # the failure itself is not in the log: there is none to say it of
    yield Answer("recovery", state == wanted, told, after)
    if "seconds" in label:
        seconds = after.seconds if after else None
        yield Answer("seconds", seconds == label["seconds"], True, seconds)


def _release(label: Mapping[str, Any], context: LaunchContext) -> Iterator[Answer]:
    told = context.sglang_version
    if "release" not in label:
        return
    if label["release"] is None:
        yield Answer("release", told is None, False, told)
    elif told is None:
        yield Answer("release", not label.get("release_told"), bool(label.get("release_told")), told)
    else:
        low, high = _bounds(told)
        first, last = _bounds(label["release"])
        yield Answer("release", low <= last and first <= high, True, told)


def _bounds(release: str) -> tuple[Any, Any]:
    first, _, last = release.partition(" to ")
    return version_key(first), version_key(last or first)


def _each(name: str, wanted: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[Answer]:
    """One question for each entry of the label; one more for entries the label's kind lacks altogether."""
    for key, value in wanted.items():
        yield Answer(f"{name} {key}", key in told and told[key] == value, True, told.get(key))
    if name != "args" or not wanted:
        more = {key: value for key, value in told.items() if key not in wanted}
        yield Answer(f"{name}: nothing else", not more, False, more)
