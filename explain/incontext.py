"""Findings in their launch context: what became of the server, and the solutions that fit it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from explain.endings import is_cut
from explain.expressions import expression
from explain.fitting import fitted
from explain.launch import LaunchReader
from explain.lifetimes import context_of, start_of
from explain.model import Finding, LaunchContext
from explain.recovery import recovery
from explain.releasewords import shown
from explain.relevance import is_beside_the_point, says_otherwise
from explain.seen import Seen
from explain.stacks import odd_ones
from explain.values import replace

_HANG = expression(r"(?i:watchdog timeout)|Watchdog caught collective|timed out")
MAX_CONTEXTS = 8
"""Starts and servers whose findings are fitted; those of further ones keep their records' order."""


def in_context(
    findings: Sequence[Finding],
    seen: Callable[[int], Seen],
    launch: LaunchReader,
    names: Sequence[str],
) -> tuple[LaunchContext, tuple[Finding, ...]]:
    """The launch context of the first finding, and the findings with recovery and fitted solutions.

    A finding of another start or server is fitted to that one's context.
    """
    places = [seen(index) for index in range(len(findings))]
    failed: dict[int, int] = {}
    home = launch.home(places[0].source, places[0].key) if places else None
    for index, (finding, place) in enumerate(zip(findings, places, strict=True)):
        if finding.role == "cause" and launch.home(place.source, place.key) == home:
            for later in place.laters:
                failed.setdefault(later, index)
    failing = bool(findings) and (findings[0].role in ("cause", "consequence") or is_cut(findings[0]))
    context = context_of(launch, places[0] if failing else None, names, failed)
    contexts = {(home, places[0].later): context} if failing else {}

    def context_at(place: Seen) -> LaunchContext:
        key = (launch.home(place.source, place.key), place.later)
        if key not in contexts:
            if len(contexts) >= MAX_CONTEXTS:
                return LaunchContext()
            contexts[key] = context_of(launch, place, names, {})
        return contexts[key]

    return context, tuple(
        _one(finding, place, launch, names, context_at(place)) for finding, place in zip(findings, places, strict=True)
    )


def _one(finding: Finding, place: Seen, launch: LaunchReader, names: Sequence[str], context: LaunchContext) -> Finding:
    solutions, dropped = fitted(finding, context)
    after = recovery(launch, place, names[place.source]) if finding.role == "cause" else None
    stuck: tuple[str, ...] = ()
    if _HANG.search(finding.message) and (start := start_of(launch, place)) is not None:
        stuck = odd_ones(start.stacks, context.ranks)
    record = shown(finding.record, context.sglang_version) if finding.record is not None else None
    if record is not None and (example := record.example_fix) and finding.record is not None:
        fitted_here = [text for text in solutions if text not in finding.record.solutions]
        if is_beside_the_point(example, finding.message) or says_otherwise(example, fitted_here):
            record = replace(record, example_fix=None)
    return replace(finding, record=record, solutions=solutions, dropped=dropped, recovery=after, stuck=stuck)
