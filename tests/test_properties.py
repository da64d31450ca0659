"""What must not change an answer: the way of the bytes, the prefilter, another stream beside."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import events_of, explain_text, matcher, summary
from tests.scoring import SHARED, cases

CASES = cases() if (SHARED / "cases").is_dir() else []
pytestmark = pytest.mark.skipif(not CASES, reason="the labelled cases are not here (../shared)")
FILLER = "".join(
    f"[2026-11-30 08:00:{n % 60:02d} TP0] Decode batch, #running-req: {n}, #token: {n * 31}, token usage: 0.42, "
    f"cuda graph: True, gen throughput (token/s): 812.44, #queue-req: 0\n"
    for n in range(600)
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(CASES), st.lists(st.integers(1, 700), min_size=1, max_size=6), st.sampled_from([None, 0]))
def test_chunking_makes_no_difference(case, sizes, head) -> None:  # type: ignore[no-untyped-def]
    log = FILLER + case[1]["log"] + "\n" + FILLER
    assert summary(explain_text(log, sizes=sizes, head=head)) == summary(explain_text(log, head=head))


@pytest.mark.parametrize("name", [name for name, _ in CASES])
def test_prefilter_equals_brute_force(name: str) -> None:
    """Every record's pattern on every event finds what the literals led to."""
    shared = matcher()
    for event in events_of(dict(CASES)[name]["log"]):
        quick, brute = shared.match(event), shared.match(event, all_records=True)
        assert (quick.record and quick.record.slug, quick.also) == (
            brute.record and brute.record.slug,
            brute.also,
        )


def test_spots_lead_to_everything_that_reading_all_lines_finds() -> None:
    """With the head left unread, only literals and anchors lead to a failure in the middle of a long log."""
    missed = []
    for name, case in CASES:
        log = FILLER + "\n" + case["log"] + "\n\n" + FILLER
        known = [row for row in summary(explain_text(log, head=10**9)) if row[3] or row[0] == "cause"]
        found = summary(explain_text(log, head=0))
        if lost := [row for row in known if row not in found]:
            missed.append((name, lost))
    assert not missed


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(CASES), st.sampled_from(CASES), st.integers(0, 2**32))
def test_interleaved_streams_equal_the_two_alone(one, two, seed) -> None:  # type: ignore[no-untyped-def]
    dice = random.Random(seed)
    streams = [
        [f"{key}  | {line}" for line in case[1]["log"].split("\n")]
        for key, case in (("sglang-a-1", one), ("sglang-b-1", two))
    ]
    mixed = []
    left = [list(stream) for stream in streams]
    while any(left):
        mixed.append(dice.choice([stream for stream in left if stream]).pop(0))
    alone = [events_of("\n".join(stream)) for stream in streams]

    def told(events):  # type: ignore[no-untyped-def]
        return sorted((event.kind, event.exception or "", event.message, event.rank or "") for event in events)

    assert told(events_of("\n".join(mixed))) == told([*alone[0], *alone[1]])
