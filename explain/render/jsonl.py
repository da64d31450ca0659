"""`--format jsonl`: one JSON object a line, written as soon as it is known; a summary at the end."""

from __future__ import annotations

from explain.model import ROLES, Event, Match, Report, Role
from explain.render import plain
from explain.render.places import deepest_frame


def event(event: Event, match: Match | None, role: Role, source_name: str) -> bytes:
    """The line of one event. `match` is None for an event that nothing explains."""
    return plain.encode(
        {
            "type": "event",
            "source": plain.text(source_name),
            "line": event.line,
            "end_line": event.end_line,
            "time": plain.optional(event.time),
            "rank": plain.optional(event.rank),
            "kind": event.kind,
            "exception": plain.optional(event.exception),
            "message": plain.text(event.message),
            "frame": plain.frame(deepest_frame(event.frames)),
            "record": plain.record_brief(match.record) if match else None,
            "site": plain.site(match.site) if match else None,
            "role": role,
            "captures": plain.captures(match.captures) if match else {},
            "confidence": round(match.confidence, 4) if match else 0.0,
        }
    )


def summary(report: Report) -> bytes:
    """The last line: what the events came to. `cause` is the first cause, null where the log holds none."""
    first = report.findings[0] if report.findings and report.findings[0].role == "cause" else None
    cause = first and {
        "count": first.count,
        "ranks": [plain.text(rank) for rank in first.ranks],
        "first": plain.place(first.first),
        "exception": plain.optional(first.exception),
        "message": plain.text(first.message),
        "record": plain.record_brief(first.record),
        "solutions": [plain.text(solution) for solution in plain.solutions(first)],
    }
    return plain.encode(
        {
            "type": "summary",
            "schema": plain.SCHEMA,
            "version": report.version,
            "sources": plain.sources(report),
            "context": plain.context(report.context),
            "cause": cause,
            "findings": {role: sum(finding.role == role for finding in report.findings) for role in ROLES},
            "unexplained": len(report.unexplained),
            "advice": [plain.text(advice) for advice in report.advice],
            "folded": report.folded,
            "problems": [plain.problem(problem) for problem in report.problems],
            "stats": plain.stats(report.stats),
        }
    )
