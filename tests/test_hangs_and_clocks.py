"""Stacks of hanging ranks, clocks of several nodes, restarts; with what must not be claimed."""

from __future__ import annotations

import pytest

from explain.clocks import offsets_of, shifted
from explain.model import MemoryStep, Place
from explain.stacks import Stack, odd_ones, read_stack
from explain.times import seconds_between
from tests.contexts.servers import (
    DECODE,
    DECODE_FRAMES,
    GRAPH_FRAMES,
    Server,
    graph_failure,
    second_node_first,
)
from tests.helpers import events_of, explain_text

WAITING = ("all_reduce (distributed.py)", "forward (model.py)")
BUSY = ("compile (grammar.py)", "run_batch (scheduler.py)")


def stacks(**frames: tuple[str, ...]) -> dict[str, Stack]:
    return {rank: Stack(rank, one) for rank, one in frames.items()}


def test_the_rank_that_stands_elsewhere_is_named() -> None:
    (told,) = odd_ones(stacks(TP0=WAITING, TP1=WAITING, TP2=BUSY), ())
    assert told.startswith("TP2's main thread stands elsewhere than the other 2 ranks'")


def test_of_two_ranks_the_one_that_does_not_wait_is_named() -> None:
    (told,) = odd_ones(stacks(TP0=WAITING, TP1=BUSY), ())
    assert told.startswith("TP1 stands in compile")


def test_a_rank_without_a_dump_is_named_where_all_others_wait() -> None:
    (told,) = odd_ones(stacks(TP0=WAITING, TP1=WAITING), ("TP0", "TP1", "TP2"))
    assert told.startswith("TP2 left no dump")


@pytest.mark.parametrize(
    ("found", "ranks"),
    [
        (stacks(TP0=WAITING), ("TP0", "TP1")),
        (stacks(TP0=WAITING, TP1=WAITING), ("TP0", "TP1")),
        (stacks(TP0=BUSY, TP1=("step (x.py)",)), ()),
        (stacks(TP0=WAITING, TP1=BUSY, TP2=("step (x.py)",)), ()),
    ],
)
def test_nothing_is_claimed_without_a_majority(found: dict[str, Stack], ranks: tuple[str, ...]) -> None:
    assert odd_ones(found, ranks) == ()


def test_a_dump_is_read_through_blank_lines_and_native_frames() -> None:
    log = (
        "[2026-11-30 08:14:58 TP3] Pyspy dump for PID 309 (py-spy dump --native --pid 309):\n"
        "Process 309: sglang::scheduler_TP3\nPython v3.12.12 (/usr/bin/python3.12)\n\n"
        'Thread 309 (active+gil): "MainThread"\n'
        "    ncclKernel (libnccl.so)\n\n    all_reduce (torch/distributed/c10d.py:2810)\n"
        "    forward (sglang/srt/model.py:88)\n"
        'Thread 311 (idle): "Thread-10"\n    sleep (x.py:1)\n'
    )
    found = [stack for event in events_of(log) if (stack := read_stack(event))]
    assert found == [Stack("TP3", ("all_reduce (c10d.py)", "forward (model.py)"))]


# ------------------------------------------------------------------ clocks


def told(source: int, *times: str, args: object = None) -> tuple[int, int, dict[str, object], list[MemoryStep]]:
    steps = [
        MemoryStep(step, "TP0", None, None, Place("log", 1, time))
        for step, time in zip(("distributed", "graph_end"), times, strict=False)
    ]
    return source, 0, {"nnodes": 2, "dist_init_addr": "a:1"} if args is None else {}, steps


def test_a_node_in_another_time_zone_is_put_right() -> None:
    first = told(0, "2026-11-30 08:00:10", "2026-11-30 08:01:00")
    assert offsets_of([first, told(1, "2026-11-30 15:00:11", "2026-11-30 15:01:00")]) == {1: 25200.5}
    assert shifted("2026-11-30 15:00:11", 25201) == "2026-11-30 08:00:10"


@pytest.mark.parametrize(
    "other",
    [
        told(1, "2026-11-30 08:00:12", "2026-11-30 08:01:00"),
        told(1, "2026-11-30 15:00:11", "2026-11-30 19:01:00"),
        told(1, "15:00:11"),
        told(1, "2026-11-30 15:00:11", args="none"),
    ],
)
def test_clocks_that_agree_or_cannot_be_compared_are_left_alone(other) -> None:  # type: ignore[no-untyped-def]
    assert offsets_of([told(0, "2026-11-30 08:00:10", "2026-11-30 08:01:00"), other]) == {}


def test_the_order_of_the_files_does_not_matter() -> None:
    first, second = second_node_first("0.5.10")
    for texts in ((first.text, second.text), (second.text, first.text)):
        lead = explain_text(*texts).findings[0]
        assert lead.exception == "torch.OutOfMemoryError" and lead.ranks == ("TP1",)


def test_seconds_between_times() -> None:
    assert seconds_between("2026-11-30 08:00:00", "2026-11-30T08:00:01.500Z") == 1.5
    assert seconds_between("08:00:00", "2026-11-30 08:00:01") is None
    assert seconds_between(None, "2026-99-30 08:00:01") is None


# ------------------------------------------------------------------ several starts


def crashing(server: Server, frames: list[tuple[str, int, str, str]], error: str) -> None:
    server.exception("", frames, error)
    server.sigquit()
    server.wait(9)


def test_the_cause_of_the_last_start_leads_and_the_earlier_one_stands_behind() -> None:
    server = Server("0.5.10")
    server.start()
    crashing(server, DECODE_FRAMES, DECODE)
    server.arguments()
    server.weights(78.0, 30.0)
    crashing(server, GRAPH_FRAMES, graph_failure())
    causes = [one for one in explain_text(server.text).findings if one.role == "cause"]
    assert [one.record.slug if one.record else None for one in causes] == [
        "graph-capture-out-of-memory",
        "kv-pool-decode-out-of-memory",
    ]
    assert [one.recovery and one.recovery.state for one in causes] == ["dead", "restarted"]


def test_every_start_that_failed_counts() -> None:
    server = Server("0.5.10")
    for _ in range(3):
        server.arguments()
        server.weights(78.0, 30.0)
        crashing(server, GRAPH_FRAMES, graph_failure())
    lives = explain_text(server.text).context.lifetimes
    assert [life.failed for life in lives] == [0, 0, 0]


def test_refused_arguments_after_a_good_start_are_a_start_of_their_own() -> None:
    server = Server("0.5.10")
    server.start()
    crashing(server, DECODE_FRAMES, DECODE)
    server.bare(
        "usage: launch_server.py [-h] --model-path MODEL_PATH",
        "launch_server.py: error: unrecognized arguments: --enable-hicache",
    )
    report = explain_text(server.text)
    assert "unrecognized" in report.findings[0].message
    assert [life.failed for life in report.context.lifetimes] == [1, 0]


def test_a_server_that_serves_again_after_a_request_failed_leads_with_what_ended_it() -> None:
    """An error of one request in the last start does not hide the crash of the start before."""
    server = Server("0.5.10")
    server.start()
    crashing(server, DECODE_FRAMES, DECODE)
    server.start()
    server.say("[http_server] Error: Traceback (most recent call last):")
    server.bare('  File "/x/sglang/srt/entrypoints/http_server.py", line 600, in generate_request')
    server.bare("    ret = await anext(generator)", "ValueError: odd request", "")
    server.batches(5, running=2)
    first = explain_text(server.text).findings[0]
    assert first.record is not None and first.record.slug == "kv-pool-decode-out-of-memory"
    assert first.recovery is not None and first.recovery.state == "restarted"
