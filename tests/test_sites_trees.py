"""The index against SGLang's own source: what synthetic errors of whole releases are recognised.

It needs unpacked releases, which are not kept here: `SGLANG_EXPLAIN_TREES` names a folder with one folder a
release (`0.5.23/sglang/…`). `patterns/README.md` says how to get them. The messages are made by a generator
that shares nothing with the harvester, see `tests/synthetic/`.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import pytest

from explain.catalogue import Catalogue
from explain.matcher import Matcher
from explain.sites import SiteIndex
from tests.synthetic.generator import events
from tests.synthetic.measure import measure

TREES = os.environ.get("SGLANG_EXPLAIN_TREES", "")
RELEASES = ("0.4.6.post5", "0.5.2", "0.5.10", "0.5.19", "0.5.23")
pytestmark = pytest.mark.skipif(not TREES, reason="SGLANG_EXPLAIN_TREES names no folder of unpacked releases")
RECOGNISED = ("recognised with frames", "recognised without frames", "log recognised")
NEEDED = {"recognised": 0.995, "exact with frames": 0.99, "bare exact": 0.95}
SECONDS = 60


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(Catalogue.of([]), SiteIndex.load())


@pytest.mark.parametrize("release", RELEASES)
def test_errors_of_a_release_are_recognised(matcher: Matcher, release: str) -> None:
    root = Path(TREES) / release
    if not root.is_dir():
        pytest.skip(f"{root} is not there")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = list(events(root))
    begin = time.perf_counter()
    result = measure(made, matcher)
    seconds = time.perf_counter() - begin
    for what in RECOGNISED:
        result.asked["recognised"] += result.asked[what]
        result.passed["recognised"] += result.passed[what]
        result.failed.setdefault("recognised", []).extend(result.failed.get(what, []))
    shares = {what: round(result.share(what), 4) for what in result.asked}
    print(f"{release}: {len(made)} events in {seconds:.1f} s, {shares}")
    assert len(made) > 500 and seconds < SECONDS
    for what, share in NEEDED.items():
        failed = [(event.exception, event.message[:80], event.file) for event in result.failed.get(what, [])[:20]]
        assert result.share(what) >= share, (what, failed)
