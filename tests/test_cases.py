"""The labelled cases and the real logs: the scores that must hold."""

from __future__ import annotations

from functools import cache

import pytest

from explain.model import Report
from tests.helpers import explain_text
from tests.scoring import SHARED, Score, cases, explained, is_root, real_logs, score_case, told

pytestmark = pytest.mark.skipif(not (SHARED / "cases").is_dir(), reason="the labelled cases are not here (../shared)")


@cache
def scores() -> tuple[Score, ...]:
    return tuple(score_case(name, case, explain_text(case["log"])) for name, case in cases())


@cache
def real_reports() -> tuple[tuple[str, str, Report], ...]:
    return tuple(
        (name, label["root_message"], explain_text(log.read_bytes()))
        for name, label, log in real_logs()
        if label["root_message"]
    )


def test_the_root_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    found = scores()
    with capsys.disabled():
        print()
        for score in found:
            if not (score.root_first and score.explained):
                print(score.row())
        roots, known = sum(one.root_first for one in found), sum(one.explained for one in found)
        print(f"cases: root first {roots} of {len(found)}, with a written record {known}")
    assert roots >= 0.95 * len(found)
    assert known >= 0.85 * len(found)


def test_no_cause_is_invented() -> None:
    """Families whose log does not hold the cause."""
    from tests.scoring import NO_CAUSE_FAMILIES

    wrong = [one.row() for one in scores() if one.family in NO_CAUSE_FAMILIES and not one.root_first]
    assert not wrong


def test_real_logs(capsys: pytest.CaptureFixture[str]) -> None:
    reports = real_reports()
    missed = []
    for name, message, report in reports:
        first = report.findings[0] if report.findings else None
        if first is None or not is_root(first, message.split("\n")[0]):
            missed.append(f"{name}: {message[:80]} <> {told(first)[:120]}")
    with capsys.disabled():
        known = sum(explained(report.findings[0] if report.findings else None) for _, _, report in reports)
        print(f"\nreal logs: root first {len(reports) - len(missed)} of {len(reports)}, with a written record {known}")
        for row in missed:
            print("  " + row)
    assert len(missed) <= 0.05 * len(reports)


@pytest.mark.parametrize(
    "path",
    [SHARED / "healthy_lines.txt", *sorted((SHARED / "real_logs" / "healthy").glob("*.log"))],
    ids=lambda path: path.name,
)
def test_healthy_logs_have_no_cause(path) -> None:  # type: ignore[no-untyped-def]
    report = explain_text(path.read_bytes())
    assert [(finding.first.line, told(finding)) for finding in report.findings if finding.role == "cause"] == []


def test_every_healthy_line_alone_has_no_cause() -> None:
    """Also without the lines around it, as somebody would paste it."""
    lines = (SHARED / "healthy_lines.txt").read_text(errors="replace").splitlines()
    wrong = [
        (line[:120], told(report.findings[0])[:120])
        for line in lines
        if (report := explain_text(line)).findings and report.findings[0].role == "cause"
    ]
    assert not wrong
