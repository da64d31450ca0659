"""Nothing is taken off what programs print themselves."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.carriers import Carriers
from explain.carriers.ansi import without_codes
from explain.model import Stripped
from tests.scoring import SHARED

HEALTHY = SHARED / "healthy_lines.txt"
CARRIED = (
    "sglang-1  | ",
    "[pod/",
    "2026-11-30T08:16:10.123456789Z stderr F ",
    '{"log":',
    "Nov 30 08:16:10 ",
    "(SGLangEngine pid=",
    "3: [",
)
OWN = [
    "[Rank 3] Watchdog caught collective operation timeout",
    "[rank3]:[E1130 08:14:58.123456789 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught",
    "[rank5]:W0215 08:14:20.114000 2211 torch/_inductor/utils.py:1436] [0/0] x",
    "[http_server] Error: x",
    "[sgl_kernel] CRITICAL: x",
    "[gpu_id=0] Prefill batch.",
    "[TP0 EP0] Scheduler hit an exception: x",
    "[01:02:03 TP1] x",
    "[11-30 08:14:58] x",
    "2025-03-26 17:34:02 TP5] Scheduler hit an exception: x",
    "2026-11-30 08:32:01,417 [Daemon gpu=0 tp_rank=0] INFO Load weight begin.",
    "2025-09-12 10:05:00,121 - INFO - flashinfer.jit: Loading JIT ops: x",
    "2025-10-28 13:20:19 ERROR http_request{method=POST uri=/x}: sglang_router_rs::a: src/x.rs:1: y",
    "2026-11-30T08:37:20.123456Z  WARN smg::workflow::event: src/workflow/event.rs:233: Step failed",
    "[Router (Rust)] 2025-03-08 02:33:09 - INFO - x",
    "[1784200001.000004] [host:990001:0]   ib_mlx5_dv.c:452  UCX  ERROR   x",
    "I20261130 14:00:07.471001  1413 transfer_engine.cpp:486] x",
    "INFO 05-20 09:00:01 [__init__.py:239] x",
    "ERROR:    Exception in ASGI application",
    "WARNING: Logging before InitGoogleLogging() is written to STDERR",
    ":0:rocdevice.cpp            :3586: 1180000001 us:  Callback: x",
    "[1/4] c++ -MMD -MF module.o.d",
    "  | ValueError: x",
    "  + Exception Group Traceback (most recent call last):",
    "+-+---------------- 1 ----------------",
    "`torch_dtype` is deprecated! Use `dtype` instead!",
    "a | b",
    "x = a | b",
    "(a pid=3)",
    "3: x",
    '"a",',
    "see above for details",
    "./run.sh: line 22: 90411 Killed                  python -m sglang.launch_server",
]


@pytest.mark.parametrize("line", OWN)
def test_a_programs_own_prefix_stays(line: str) -> None:
    assert Carriers().strip(line) == [Stripped(line)]


def test_healthy_lines() -> None:
    if not HEALTHY.is_file():
        pytest.skip("the shared lines are not here")
    carriers = Carriers()
    for line in HEALTHY.read_text().split("\n"):
        bare = without_codes(line)
        if "\r" in line or "it/s][20" in line or bare.startswith(CARRIED):
            continue
        assert [one.text for one in carriers.strip(line)] == [bare]


TRACEBACK = (
    "[2026-11-30 08:14:58 TP0] x: Traceback (most recent call last):",
    '  File "a.py", line 1, in f',
)
CODE = st.one_of(
    st.sampled_from(
        [
            "x = a | b",
            "| b",
            "(a pid=3)",
            "(Worker pid=3) or x",
            'log({"log": "x\\n", "stream": "stderr", "time": "t"})',
            '{"message": "x", "level": "error"},',
            '"message": "x",',
            '"Traceback",',
            "> limit",
            "3: x,",
            "[rank0]: x",
            "[pod/a/b] x",
            "raise ValueError(",
            "^^^^^^^^",
            "~~~~~^^^",
            "│ x │",
            "2026-11-30T08:14:58Z x",
            "`x`",
            "ERROR:root:x",
            'text.replace("&lt;", "<")',
            'f"{a}  [{done}/{all}]"',
        ]
    ),
    st.text(st.characters(codec="ascii", exclude_characters="\n\r\x1b"), min_size=1, max_size=60),
)


@given(CODE.map(str.strip).filter(bool), st.sampled_from(["    ", "      ", "        "]))
def test_indented_code_keeps_every_byte(code: str, indent: str) -> None:
    line = indent + code
    if ("&" in code and ";" in code) or "\\" in code or "](" in code or "\x9b" in code or "33[" in code:
        return  # pages' and terminals' escapes are undone wherever they stand
    carriers = Carriers()
    for before in TRACEBACK:
        assert carriers.strip(before) == [Stripped(before)]
    assert carriers.strip(line) == [Stripped(line)]


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for line in text.split("\n"):
        for piece in Carriers().strip(line):
            assert "\x1b[" not in piece.text or "\x1b[" not in without_codes(piece.text)


LONG = {
    "letters": "a" * 10**6,
    "blanks": " " * 10**6,
    "words": "ab " * 300_000,
    "bars": "a | " * 250_000,
    "quotes": "> " * 500_000,
    "brackets": "[" * 10**6,
    "objects": '{"log":"x\\n","stream":"s","time":"t"} ' * 20_000,
    "an open object": '{"log":"' + "x" * 10**6,
    "nested objects": '{"a":' * 100_000,
    "nested literals": "{'Traceback (most recent call last):\\n':" + "[" * 100_000,
    "escapes": "\\n" * 500_000,
    "escaped frames": "Traceback (most recent call last):\\n" * 20_000,
    "codes": "\x1b[" * 500_000,
    "carriage returns": "x\r" * 500_000,
    "entities": "&lt;" * 250_000,
    "links": "[#1](http" * 100_000,
    "structured data": "<1>1 - a b c d " + '["' * 300_000,
    "labels": "2026-11-30T08:14:58Z {" + 'a="b",' * 100_000,
    "times": "2026-11-30T08:14:58Z " * 40_000,
    "stamps": "abc def ghi [2026-11-30 08:14:58 TP0] " * 20_000,
    "actors": "(W pid=1) " * 100_000,
    "a long name": "(" + "a" * 10**6 + " pid=1) x",
    "a logger's name": "2025-03-06 01:02:03 - " + "a." * 400_000,
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_line_costs_no_more_than_its_length(name: str) -> None:
    started = time.process_time()
    Carriers().strip(LONG[name])
    assert time.process_time() - started < 3
