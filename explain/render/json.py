"""`--format json`: the whole report as one JSON object, cause first."""

from __future__ import annotations

from typing import Any

from explain.model import Report
from explain.render import plain


def to_dict(report: Report) -> dict[str, Any]:
    """The report as the object that `--format json` prints."""
    return {
        "schema": plain.SCHEMA,
        "version": report.version,
        "sources": plain.sources(report),
        "context": plain.context(report.context),
        "findings": [plain.finding(finding) for finding in report.findings],
        "unexplained": list(report.unexplained),
        "advice": [plain.text(advice) for advice in report.advice],
        "folded": report.folded,
        "problems": [plain.problem(problem) for problem in report.problems],
        "stats": plain.stats(report.stats),
    }


def render(report: Report) -> bytes:
    """The report as an indented JSON document, UTF-8, with a line feed at its end."""
    return plain.encode(to_dict(report), indent=2)
