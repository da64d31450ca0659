"""Labelled cases and real logs, and the rules by which a report is held against a label."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explain.model import Finding, Report

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
NO_CAUSE_FAMILIES = frozenset({"root-cut-off", "consequences-only", "http-500-without-cause"})
_CLASS = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Backend\w*|Resources): ")


@dataclass(frozen=True, slots=True)
class Score:
    """One case: whether the first finding is the root, whether a written record explains it."""

    name: str
    family: str
    root_first: bool
    explained: bool
    told: str

    def row(self) -> str:
        marks = ("root " if self.root_first else "MISS ") + ("record" if self.explained else "------")
        return f"{self.name:32} {marks}  {self.family:36} {self.told[:90]}"


def folded(text: str) -> str:
    return " ".join(text.split())


def is_root(finding: Finding, message: str) -> bool:
    """Whether `finding` is the error that a label's root message names (the label may hold a part of it)."""
    wanted = folded(_CLASS.sub("", message, count=1) if _CLASS.match(message) else message)
    told = folded(f"{finding.exception or ''}: {finding.message}")
    if wanted and wanted in told:
        return True
    if not wanted or folded(message) == (finding.exception or "").rpartition(".")[2]:
        return folded(message).rpartition(".")[2] == (finding.exception or "").rpartition(".")[2]
    own = folded(finding.message)
    return len(own) >= 20 and own in wanted


def score_case(name: str, case: dict[str, Any], report: Report) -> Score:
    """Holds a report against one file of `cases/`."""
    first = report.findings[0] if report.findings else None
    if case["family"] in NO_CAUSE_FAMILIES:
        right = first is None or first.role != "cause"
        return Score(name, case["family"], right, right, told(first))
    right = first is not None and is_root(first, case["root"]["message"])
    return Score(name, case["family"], right, right and explained(first), told(first))


def explained(finding: Finding | None) -> bool:
    record = finding.record if finding else None
    return bool(record and record.documentation and record.solutions)


def told(finding: Finding | None) -> str:
    if finding is None:
        return "(nothing)"
    slug = finding.record.slug if finding.record else "-"
    return f"{finding.role} {slug} | {finding.exception}: {folded(finding.message)}"


def cases() -> list[tuple[str, dict[str, Any]]]:
    return [(path.stem, json.loads(path.read_text())) for path in sorted((SHARED / "cases").glob("*.json"))]


def real_logs() -> list[tuple[str, dict[str, Any], Path]]:
    folder = SHARED / "real_logs"
    return [
        (path.stem, json.loads(path.read_text()), path.with_suffix(".log")) for path in sorted(folder.glob("*.json"))
    ]
