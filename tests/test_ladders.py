"""Memory advice on the figures of real servers, held against the sums that SGLang itself makes."""

from __future__ import annotations

import re

import pytest

from explain.headroom import RESERVE, SMALLEST_POOL, TIGHT, headroom_of
from explain.model import LaunchContext, MemoryStep, Place, Pool
from explain.registry import registry
from tests.contexts.ladders import LADDERS, Ladder
from tests.contexts.servers import FORWARD_FRAMES, GRAPH_FRAMES, NO_POOL, POOL_FRAMES, Server, graph_failure
from tests.helpers import explain_text

HERE = Place("log", 1)
PRINTED = 0.05
"""The logs print two decimals; ranks differ by some more."""
RANKS = 0.35

ladders = pytest.mark.parametrize("ladder", LADDERS, ids=lambda one: one.name)
WITH_POOL = [one for one in LADDERS if one.left is not None]


def context_of(ladder: Ladder, release: str | None = None) -> LaunchContext:
    steps = [("weights_begin", ladder.before), ("weights_end", ladder.after)]
    if ladder.left is not None:
        steps += [("pool_end", ladder.left), ("graph_begin", ladder.left)]
    return LaunchContext(
        sglang_version=release or ladder.release,
        server_args=ladder.args,
        memory=(
            *(MemoryStep(step, "", gb, None, HERE) for step, gb in steps),
            *([MemoryStep("graph_end", "", None, ladder.graphs, HERE)] if ladder.graphs else []),
        ),
        pools=(Pool("", 1000, ladder.pool, None, HERE),) if ladder.pool else (),
    )


# ------------------------------------------------------------- SGLang's own sums, written down a second time


def budget(ladder: Ladder, fraction: float) -> float:
    """What the server gives to its pools: what is free, less the part of the beginning that is not static."""
    return ladder.after - ladder.before * (1 - fraction * ladder.share)


def pools(ladder: Ladder, fraction: float) -> float:
    """What pools and their buffers take with another fraction on the same server."""
    now = budget(ladder, ladder.fraction)
    taken = ladder.after - ladder.left if ladder.left is not None else now
    moved = budget(ladder, fraction) - now
    if ladder.cap is not None:
        return min(taken, budget(ladder, fraction) + max(0.0, taken - now))
    return taken + moved


def free(ladder: Ladder, fraction: float) -> float:
    return ladder.after - pools(ladder, fraction)


@ladders
def test_the_sums_are_those_of_the_server(ladder: Ladder) -> None:
    """The figures that a real server printed follow from each other."""
    if ladder.floor is not None:
        assert abs(1 - ladder.after / ladder.before - ladder.floor) < 0.0005
        assert budget(ladder, ladder.floor - 0.001) < 0 < budget(ladder, ladder.floor + 0.001)
    if ladder.budget is not None:
        assert abs(budget(ladder, ladder.fraction) - ladder.budget) < PRINTED
    if ladder.pool is not None and ladder.cap is None:
        assert abs(budget(ladder, ladder.fraction) - ladder.pool - ladder.other) < RANKS
    if ladder.pool is not None and ladder.cap is not None:
        assert ladder.pool < budget(ladder, ladder.fraction)
    if ladder.left is None and ladder.budget is None:
        assert budget(ladder, ladder.fraction) < PRINTED


@ladders
@pytest.mark.parametrize("missing", [0.0, 0.5, 1.5])
def test_a_lower_fraction_leaves_what_is_promised(ladder: Ladder, missing: float) -> None:
    found = headroom_of(context_of(ladder), missing)
    assert found is not None and found.wanted is not None
    assert found.wanted >= (ladder.left or 0.0) + missing + 0.99
    if found.lower is None:
        need = max(found.wanted - (ladder.left or 0.0), 0.0)
        nothing_left = budget(ladder, 1 - found.wanted / ladder.before) < SMALLEST_POOL + RANKS
        assert nothing_left or pools(ladder, ladder.fraction) - need < SMALLEST_POOL + RANKS
        return
    assert found.lower < ladder.fraction
    assert free(ladder, found.lower) >= found.wanted - PRINTED
    assert free(ladder, found.lower) >= (found.left_then or 0.0) - 0.1
    assert pools(ladder, found.lower) > 0


@ladders
def test_a_higher_fraction_leaves_the_reserve_and_the_pool_that_is_promised(ladder: Ladder) -> None:
    found = headroom_of(context_of(ladder))
    assert found is not None
    if ladder.cap is not None:
        assert found.higher is None, "more than the tokens that were asked for is never made"
    if found.higher is not None:
        assert free(ladder, found.higher) >= RESERVE[ladder.before >= 60] - PRINTED
        assert budget(ladder, found.higher) >= (found.pool_then or 0.0) - 0.1
        assert found.higher > ladder.fraction
    if found.tight is not None:
        assert found.higher is None
        assert free(ladder, found.tight) >= RESERVE[ladder.before >= 60] * TIGHT - PRINTED - 0.05 * ladder.before * (
            1 - ladder.share
        )
        assert budget(ladder, found.tight) > 0


@pytest.mark.parametrize("ladder", [one for one in LADDERS if one.floor], ids=lambda one: one.name)
def test_the_smallest_fraction_is_the_one_that_the_server_names(ladder: Ladder) -> None:
    found = headroom_of(context_of(ladder))
    assert found is not None and found.smallest is not None and ladder.floor is not None
    assert abs(found.smallest - ladder.floor) <= 0.0011
    best = found.higher or found.tight
    assert best is not None and best > ladder.floor


# -------------------------------------------------------------------------- from the log to the words


def log_of(ladder: Ladder, failure: str) -> str:
    server = Server(ladder.release, **ladder.args)
    server.arguments()
    server.distributed()
    server.weights(ladder.before, ladder.after)
    if ladder.left is not None:
        server.pool(100_000, ladder.pool or ladder.after - ladder.left, ladder.left)
    if failure == "graph":
        server.graphs(ladder.left or 0.0, None)
        server.exception("", GRAPH_FRAMES, graph_failure())
    elif failure == "forward":
        server.graphs(ladder.left or 0.0, (ladder.left or 0.0) - (ladder.graphs or 0.3))
        server.ready()
        server.batches(2, 8)
        server.exception("", FORWARD_FRAMES, "torch.OutOfMemoryError: " + graph_failure().split(": ", 2)[2])
    else:
        server.exception("", POOL_FRAMES, NO_POOL)
    return server.text


@pytest.mark.parametrize("failure", ["graph", "forward"])
@pytest.mark.parametrize("ladder", WITH_POOL, ids=lambda one: one.name)
def test_the_words_of_the_report_keep_the_promise(ladder: Ladder, failure: str) -> None:
    first = explain_text(log_of(ladder, failure)).findings[0]
    said = re.match(r"Set `--mem-fraction-static (?P<value>[\d.]+)` .*: about (?P<then>[\d.]+) GB", first.solutions[0])
    if said is None:
        assert any("no lower `--mem-fraction-static`" in one.reason for one in first.dropped), first.solutions
        assert ladder.cap is not None or pools(ladder, ladder.fraction) < 6
        return
    assert free(ladder, float(said["value"])) >= float(said["then"]) - 0.1
    assert free(ladder, float(said["value"])) >= (ladder.left or 0.0) + 1.5, "1.5 GiB were asked for in vain"
    assert pools(ladder, float(said["value"])) > 0


@pytest.mark.parametrize(
    "ladder", [one for one in LADDERS if one.left is None and one.budget is None], ids=lambda one: one.name
)
def test_without_a_pool_the_report_names_a_fraction_that_makes_one(ladder: Ladder) -> None:
    first = explain_text(log_of(ladder, "pool")).findings[0]
    said = re.match(r"Raise `--mem-fraction-static` to (?P<value>[\d.]+) ", first.solutions[0])
    assert said is not None, first.solutions
    assert budget(ladder, float(said["value"])) > 0
    assert free(ladder, float(said["value"])) > RESERVE[ladder.before >= 60] * TIGHT - PRINTED


def test_what_is_free_behind_the_last_pool_counts() -> None:
    """A draft model's pool comes behind the target's; two pools of a rank are one amount."""
    server = Server("0.5.22", mem_fraction_static=0.9)
    server.arguments()
    server.weights(31.0, 14.0)
    server.pool(454112, 6.92, 7.63)
    server.pool(454112, 2.16, 5.46)
    server.graphs(5.2, None)
    server.exception("", GRAPH_FRAMES, graph_failure())
    first = explain_text(server.text).findings[0]
    assert "instead of 5.5 GB" in first.solutions[0] and "the KV pool 9.1 GB" in first.solutions[0]


def test_over_releases_and_gpus() -> None:
    assert len(LADDERS) >= 20
    assert len({one.release for one in LADDERS}) >= 10 and len({one.gpu for one in LADDERS}) >= 8
    assert {one.release for one in LADDERS} <= set(registry().versions)
