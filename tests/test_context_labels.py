"""The launch context, the first failing rank and the recovery on every labelled case and real log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from explain.model import Report
from explain.render import json as json_format
from tests.contexts import labelled
from tests.contract import check_json_output
from tests.helpers import explain_text
from tests.scoring import SHARED

pytestmark = pytest.mark.skipif(not (SHARED / "cases").is_dir(), reason="the labelled cases are not here (../shared)")


@cache
def reports() -> dict[str, Report]:
    return {name: explain_text(log) for name, log, _ in labelled.shared_logs()}


def test_every_shared_log_has_a_label() -> None:
    from tests.scoring import cases, real_logs

    assert {name for name, _ in cases()} <= labelled.labels("cases").keys()
    assert {name for name, _, _ in real_logs()} <= labelled.labels("real_logs").keys()


@pytest.mark.parametrize(
    ("question", "share"),
    [(labelled.fields, 0.98), (labelled.first_ranks, 0.95), (labelled.recovery, 0.95)],
    ids=["fields", "first_ranks", "recovery"],
)
def test_labels(
    question: Callable[..., Iterator[labelled.Answer]], share: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a log tells and what it does not tell are counted apart: silence is easy."""
    answers = [(name, one) for name, _, label in labelled.shared_logs() for one in question(label, reports()[name])]
    missed = [f"{name}: {one.question}: {str(one.answer)[:160]}" for name, one in answers if not one.right]
    told = [one.right for _, one in answers if one.told]
    silent = [one.right for _, one in answers if not one.told]
    with capsys.disabled():
        print(f"\n{question.__name__}: {sum(told)} of {len(told)} right, silent {sum(silent)} of {len(silent)}")
        print(*missed, sep="\n")
    assert len(told) >= 25
    assert sum(told) >= share * len(told), missed
    assert sum(silent) >= share * len(silent), missed


def test_the_reports_are_to_the_contract() -> None:
    for report in reports().values():
        check_json_output(json_format.render(report))
