"""The same log gives the same findings, whatever carried it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from explain.catalogue import Catalogue
from explain.engine import explain_sources
from explain.matcher import Matcher
from explain.model import Block, Report
from explain.sites import SiteIndex
from tests.carriers.wrap import RESTAMPED, WRAPPERS, restamped
from tests.scoring import SHARED, cases

CASES = cases() if (SHARED / "cases").is_dir() else []
PROOF = "[2026-11-30 08:00:00] The server is fired up and ready to roll!\n"
BROKEN = {("html", "b133"), *((logger, "b133") for logger in RESTAMPED)}
"""Its lines were broken at a column by a terminal: what changes their lengths hides the column."""


class Text:
    """A log in memory."""

    def __init__(self, text: str) -> None:
        self.name = "log"
        self._data = text.encode()

    def blocks(self) -> Iterator[Block]:
        yield Block(0, 0, self._data, True)


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(Catalogue.load(), SiteIndex.load())


def told(report: Report) -> list[tuple[object, ...]]:
    """What a report says, but for the place where it stood."""
    return [
        (
            finding.role,
            finding.record.slug if finding.record else None,
            finding.exception,
            " ".join(finding.message.split()),
            finding.ranks,
        )
        for finding in report.findings
    ]


@pytest.fixture(scope="module")
def bare(matcher: Matcher) -> dict[str, list[tuple[object, ...]]]:
    return {name: told(explain(matcher, PROOF + case["log"].strip("\n"))) for name, case in CASES}


def explain(matcher: Matcher, text: str) -> Report:
    return explain_sources([Text(text)], matcher.catalogue, matcher.sites, matcher=matcher)


@pytest.mark.parametrize("carrier", WRAPPERS)
def test_findings_in_a_carrier(carrier: str, matcher: Matcher, bare: dict[str, list[tuple[object, ...]]]) -> None:
    if not CASES:
        pytest.skip("the shared cases are not here")
    wrap = WRAPPERS[carrier]
    different = [
        name
        for name, case in CASES
        if (carrier, name) not in BROKEN and told(explain(matcher, wrap(PROOF + case["log"].strip("\n")))) != bare[name]
    ]
    assert not different


def without_ranks(findings: list[tuple[object, ...]]) -> set[tuple[object, ...]]:
    return {finding[:-1] for finding in findings}


@pytest.mark.parametrize("logger", RESTAMPED)
def test_findings_under_another_logger(logger: str, matcher: Matcher) -> None:
    """Other loggers lose the ranks (but one, which has them elsewhere), and nothing else that matters."""
    if not CASES:
        pytest.skip("the shared cases are not here")
    different = []
    for name, case in CASES:
        if (logger, name) in BROKEN:
            continue
        text = case["log"].strip("\n")
        found = told(explain(matcher, restamped(logger)(text)))
        causes = [one for one in told(explain(matcher, text)) if one[0] == "cause"]
        if logger == "user config":
            missing = [one for one in causes if one not in found]
        else:
            missing = [one for one in without_ranks(causes) if one not in without_ranks(found)]
        if missing:
            different.append((name, missing))
    assert not different
