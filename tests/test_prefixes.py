"""Prefixes that programs print themselves."""

from __future__ import annotations

import pytest

from explain.prefixes import read_prefix

READ = [
    ("[2026-11-30 08:14:58] text", "2026-11-30 08:14:58", None, None, "text"),
    ("[2026-11-30 08:14:58.123 DP0 PP1 ATTN_CP0 MOE_DP1 TP3 EP1] text", "2026-11-30 08:14:58.123", "DP0 PP1 ATTN_CP0 MOE_DP1 TP3 EP1", None, "text"),
    ("[2026-11-30 08:14:58 encode_dp_worker[3]] text", "2026-11-30 08:14:58", "encode_dp_worker[3]", None, "text"),
    ("[2026-01-02 10:00:00 DisaggregationMode.PREFILL TP0] text", "2026-01-02 10:00:00", "DisaggregationMode.PREFILL TP0", None, "text"),
    ("2025-03-26 17:34:02 TP5] first bracket lost", "2025-03-26 17:34:02", "TP5", None, "first bracket lost"),
    ("[2026-11-30 08:14:58 TP0 XYZ_W3] a label of a later release", "2026-11-30 08:14:58", "TP0 XYZ_W3", None, "a label of a later release"),
    ("[TP5 EP5] date cut off", None, "TP5 EP5", None, "date cut off"),
    ("[gpu_id=0] release 0.2", None, "gpu_id=0", None, "release 0.2"),
    ("[02:26:31] release 0.3", "02:26:31", None, None, "release 0.3"),
    ("[06-08 11:20:42] no year", "06-08 11:20:42", None, None, "no year"),
    ("[2026-11-30 08:14:58] ERROR:    Exception in ASGI application", "2026-11-30 08:14:58", None, "ERROR", "Exception in ASGI application"),
    ("ERROR:    Exception in ASGI application", None, None, "ERROR", "Exception in ASGI application"),
    ("[2026-11-30 08:14:58] WARNING server_args.py:1328: text", "2026-11-30 08:14:58", None, "WARNING", "text"),
    ("2026-11-30 08:37:20  WARN smg::workflow::event: src/workflow/event.rs:233: Step failed", "2026-11-30 08:37:20", None, "WARNING", "Step failed"),
    ('2025-10-28 13:20:19 ERROR http_request{method=POST request_id="g"}: sglang_router_rs::routers: src/r.rs:142: No', "2025-10-28 13:20:19", None, "ERROR", "No"),
    ("E0712 18:04:51.494601 nixl_agent.cpp:631] glog", "18:04:51.494601", None, "ERROR", "glog"),
    ("E20251112 01:02:03.123456 99 a.cpp:1] newer glog", "01:02:03.123456", None, "ERROR", "newer glog"),
    ("[rank3]:[E1130 08:14:58.123456789 ProcessGroupNCCL.cpp:616] [Rank 3] text", "08:14:58.123456789", "rank3", "ERROR", "[Rank 3] text"),
    ("[rank1]:[E ProcessGroupNCCL.cpp:583] [Rank 1] text", None, "rank1", "ERROR", "[Rank 1] text"),
    ("pod-0:100:1012 [1] NCCL INFO text", None, None, "INFO", "NCCL INFO text"),
    ("[1784200001.000004] [host:990001:0]   ib_mlx5_dv.c:452  UCX  ERROR   text", "1784200001.000004", None, "ERROR", "text"),
    (":0:rocdevice.cpp            :3586: 1180000001 us:  Callback: Queue", None, None, "ERROR", "Callback: Queue"),
    ("/x/torch/cuda/__init__.py:184: UserWarning: text", None, None, "WARNING", "UserWarning: text"),
    ("INFO 03-05 18:14:42 __init__.py:190] text", "03-05 18:14:42", None, "INFO", "text"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "time", "rank", "level", "rest"), READ)
def test_prefix_is_read(line: str, time: str | None, rank: str | None, level: str | None, rest: str) -> None:
    prefix = read_prefix(line)
    assert prefix is not None
    if level == "WARNING" and "UserWarning" in line:
        assert prefix.level == "WARNING"
    assert (prefix.time, prefix.rank, prefix.level, prefix.rest) == (time, rank, level, rest)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "    return self.forward(x)",
        '  File "a.py", line 3, in f',
        "RuntimeError: no",
        "[11:42:39] /project/cpp/grammar_matcher.cc:556: Check failed",
        "[1] first of a list",
        "[0/1700]",
        "self.x = [2026]",
        "Aborted (core dumped)",
        "[http_server] Error: text",
        "[XYZ_W3] no time, no rank",
    ],
)
def test_no_prefix(line: str) -> None:
    assert read_prefix(line) is None


def test_native_lines_are_intruders() -> None:
    """They cut into a traceback of Python without ending it."""
    for line in ("pod-0:1:2 [1] NCCL INFO x", "E0712 18:04:51.494601 a.cpp:631] x", "a.py:1: UserWarning: x"):
        prefix = read_prefix(line)
        assert prefix is not None and prefix.intruder
