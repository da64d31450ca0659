"""A record that covers several options: what is about the one that failed comes first."""

from __future__ import annotations

import pytest

from explain.relevance import is_beside_the_point, says_otherwise, to_the_point
from tests.helpers import explain_text

SOLUTIONS = (
    "Set `--schedule-conservativeness 0.3` to admit more requests.",
    "Write `--gc-threshold 700 10 10`.",
    "Add `--kv-canary log` for sweeps.",
    "Do not use `--kv-canary raise` in production.",
)


@pytest.mark.parametrize(
    ("message", "order"),
    [
        ("--kv-canary-sweep-interval requires --kv-canary in {log, raise}", [2, 0, 1, 3]),
        ("gc_threshold takes one to three numbers", [1, 0, 2, 3]),
        ("--schedule-conservativeness must not be negative", [0, 1, 2, 3]),
        ("--something-else is wrong", [0, 1, 2, 3]),
        ("out of memory", [0, 1, 2, 3]),
    ],
)
def test_the_option_that_failed_comes_first(message: str, order: list[int]) -> None:
    assert to_the_point(range(4), SOLUTIONS.__getitem__, message) == order


def test_a_first_solution_without_options_stands() -> None:
    texts = ("Upgrade the driver.", "Remove `--lamp`.")
    assert to_the_point([0, 1], texts.__getitem__, "--lamp is broken") == [0, 1]
    assert to_the_point([], texts.__getitem__, "--lamp is broken") == []


def test_an_example_of_other_options_is_left_out() -> None:
    example = "# before\nsglang serve --model-path m --gc-threshold 1 2 3 4\n# after\nsglang serve --model-path m"
    assert is_beside_the_point(example, "--kv-canary-sweep-interval requires --kv-canary")
    assert not is_beside_the_point(example, "--gc-threshold takes three numbers")
    assert not is_beside_the_point(example, "out of memory")
    assert not is_beside_the_point("sglang serve --model-path m --port 1", "--lamp is broken")


def test_the_report_of_a_record_that_bundles_checks() -> None:
    report = explain_text("ValueError: --kv-canary-sweep-interval requires --kv-canary in {log, raise}\n")
    first = report.findings[0]
    assert "--kv-canary" in first.solutions[0]
    assert first.record is not None and "--kv-canary" in (first.record.example_fix or "--kv-canary")


def test_an_example_that_contradicts_fitted_advice_is_told_apart() -> None:
    example = "# before\nserve --lamp-watts 90\n# after\nserve --lamp-watts 60"
    assert says_otherwise(example, ["Set `--lamp-watts 40` (it is 90)."])
    assert not says_otherwise(example, ["Set `--lamp-watts 60` (it is 90)."])
    assert not says_otherwise(example, ["Turn the lamp off.", "Use --other 40."])
    assert not says_otherwise(example, [])
