"""What one line cannot tell: streams, parts of lines, entries of several lines, proofs."""

from __future__ import annotations

import json

from explain.carriers import MAX_DEPTH, Carriers
from explain.model import Stripped
from tests.carriers.wrap import ISO

STAMP = "[2026-11-30 08:14:58 TP0]"


def texts(*lines: str) -> list[str]:
    carriers = Carriers()
    return [piece.text for line in lines for piece in carriers.strip(line)]


def test_keys_are_joined_from_outside_in() -> None:
    (found,) = Carriers().strip(f"[pod/sglang-0/server] {ISO} (WorkerDict pid=9, ip=10.0.0.1) {STAMP} x")
    assert found == Stripped(f"{STAMP} x", "sglang-0/server/WorkerDict pid=9 10.0.0.1", ISO)


def test_the_time_is_the_outermost_carriers() -> None:
    (found,) = Carriers().strip(f"Nov 30 09:00:00 node-0 docker[1]: {ISO} {STAMP} x")
    assert found.time == "Nov 30 09:00:00"


def test_a_cut_line_is_not_read_as_a_lines_beginning() -> None:
    carriers = Carriers()
    (first,) = carriers.strip(f"{ISO} stderr P (WorkerDict pid=9) {STAMP} a ")
    (second,) = carriers.strip(f"{ISO} stderr P > b 3: ")
    (third,) = carriers.strip(f"{ISO} stderr F [rank0]: c")
    (other,) = carriers.strip(f"{ISO} stderr F [rank0]: d")
    assert [first.partial, second.partial, third.partial] == [True, True, False]
    assert first.text + second.text + third.text == f"{STAMP} a > b 3: [rank0]: c"
    assert first.key == second.key == third.key == "stderr/WorkerDict pid=9"
    assert other.text == "d"


def test_streams_of_a_container_are_cut_apart() -> None:
    carriers = Carriers()
    (first,) = carriers.strip(f"{ISO} stderr P a")
    (access,) = carriers.strip(f"{ISO} stdout F INFO:     x")
    (second,) = carriers.strip(f"{ISO} stderr F b")
    assert (first.key, access.key, second.key) == ("stderr", "stdout", "stderr")
    assert not access.partial


def docker(text: str) -> str:
    return json.dumps({"log": text, "stream": "stderr", "time": ISO})


def test_docker_cuts_long_lines() -> None:
    carriers = Carriers()
    (first,) = carriers.strip(docker("a" * 16_384))
    (second,) = carriers.strip(docker("b\n"))
    assert (first.partial, second.partial) == (True, False)
    assert carriers.strip(docker("c"))[0].partial


def test_a_shipper_may_trim_the_line_ends_of_docker() -> None:
    joined = ""
    carriers = Carriers()
    for line in ("one", f"{STAMP} two", "three", "four"):
        for piece in carriers.strip(docker(line)):
            joined += piece.text + ("" if piece.partial else "\n")
    assert joined == f"one\n{STAMP} two\nthree\nfour\n"


def test_journald_indents_the_further_lines_of_an_entry() -> None:
    head = "Nov 30 08:14:58 node-0 python3[1841]: "
    blank = " " * len(head)
    carriers = Carriers()
    (first,) = carriers.strip(f"{head}{STAMP} x: Traceback (most recent call last):")
    (second,) = carriers.strip(f'{blank}  File "a.py", line 1, in f')
    assert second == Stripped('  File "a.py", line 1, in f', first.key)


def test_carets_far_to_the_right_are_no_further_lines() -> None:
    head = "Nov 30 08:14:58 node-0 python3[1841]: "
    assert texts(f"{head}x", f"{head}{' ' * 60}^^^^")[1] == " " * 60 + "^^^^"


def test_labels_must_be_proved() -> None:
    assert texts("3: first reason", "sglang-0 server is down") == [
        "3: first reason",
        "sglang-0 server is down",
    ]
    assert texts(f"3: {STAMP} x", "3: first reason", "12: y") == [f"{STAMP} x", "first reason", "y"]
    assert texts(f"sglang-0 server {STAMP} x", "sglang-0 server is down")[1] == "is down"


def test_powershell() -> None:
    assert texts(
        f"python.exe : {STAMP} x",
        "At line:1 char:1",
        "+ python -m sglang.launch_server 2>&1 | Tee-Object log.txt",
        "+ ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
        "    + CategoryInfo          : NotSpecified: (x:String) [], RemoteException",
        "    + FullyQualifiedErrorId : NativeCommandError",
        "+ 1",
    ) == [f"{STAMP} x", "+ 1"]


def test_rich_traceback() -> None:
    drawn = """\
╭─────────────────────── Traceback (most recent call last) ────────────────────────╮
│ /opt/app/main.py:45 in start                                                     │
│                                                                                  │
│   44 │   # before                                                                │
│ ❱ 45 │   run(1)                                                                  │
│   46 │                                                                           │
│ ╭─ locals ─╮                                                                     │
│ │ a = 1    │                                                                     │
│ ╰──────────╯                                                                     │
╰──────────────────────────────────────────────────────────────────────────────────╯
ValueError: x"""
    assert texts(*drawn.split("\n")) == [
        "Traceback (most recent call last):",
        '  File "/opt/app/main.py", line 45, in start',
        "    run(1)",
        "ValueError: x",
    ]


def test_a_backtick_on_either_side() -> None:
    assert texts("`Traceback (most recent call last):", "  see `x`", "ValueError: y`", "z`") == [
        "Traceback (most recent call last):",
        "  see `x`",
        "ValueError: y",
        "z`",
    ]


def test_a_table_with_many_lines_in_a_field() -> None:
    assert texts(
        f'2026-11-30 08:14:58.123,"{STAMP} Traceback (most recent call last):',
        '  File ""a.py"", line 1, in f',
        'ValueError: ""x"""',
        'ValueError: ""x""',
    ) == [
        f"{STAMP} Traceback (most recent call last):",
        '  File "a.py", line 1, in f',
        'ValueError: "x"',
        'ValueError: ""x""',
    ]


def test_an_export_with_a_field_a_line() -> None:
    assert texts(
        "  {",
        f'    "textPayload": "{STAMP} x: Traceback (most recent call last):",',
        '    "insertId": "abc",',
        "  },",
        "  {",
        '    "textPayload": "  File \\"a.py\\", line 1, in f"',
    ) == ["  {", f"{STAMP} x: Traceback (most recent call last):", '  File "a.py", line 1, in f']


def test_a_wrapper_that_copies_output_line_by_line() -> None:
    head = "2025-03-06 01:02:03,004 - __main__ - INFO - "
    assert texts(
        f"{head}It starts",
        f"{head}{STAMP} x: Traceback (most recent call last):",
        f'{head}  File "a.py", line 1, in f',
        f"{head}ValueError: x",
        f"{head}a second line of the message",
    ) == [
        "[2025-03-06 01:02:03] It starts",
        f"{STAMP} x: Traceback (most recent call last):",
        '  File "a.py", line 1, in f',
        "ValueError: x",
        "a second line of the message",
    ]


def test_progress_bars_are_overwritten() -> None:
    bar = "Capturing batches (bs=1):  50%|█████     | 1/2 [00:00<00:01,  1.86it/s]"
    assert texts(f"\r  0%|   | 0/2 [00:00<?, ?it/s]\r{bar}") == [bar]
    assert texts(f"\r{bar}{STAMP} x") == [bar, f"{STAMP} x"]
    assert texts(f"a\r{bar}\rb") == ["a", "b"]


def test_actors_in_one_paragraph() -> None:
    carriers = Carriers()
    found = carriers.strip(f"(W pid=1) {STAMP} a: Traceback (W pid=1) File b (W pid=2) c")
    assert [(one.text, one.key) for one in found] == [
        (f"{STAMP} a: Traceback", "W pid=1"),
        ("File b", "W pid=1"),
        ("c", "W pid=2"),
    ]
    assert texts("(raylet) The actor (Engine pid=3) died") == ["The actor (Engine pid=3) died"]


def test_what_users_sent_is_no_carrier() -> None:
    for line in (
        '{"timestamp": "2026-11-30T08:21:00.1", "event": "request.received", "message": "x", "obj": {}}',
        "[2026-11-30 08:21:00] Receive: obj=X(text='Traceback (most recent call last):\\n x')",
        '{"id": "1", "choices": [{"message": {"content": "ValueError: x"}}]}',
    ):
        assert Carriers().strip(line) == [Stripped(line)]


def test_depth_is_bounded() -> None:
    (found,) = Carriers().strip("> " * 100 + "x")
    assert found.text == "> " * (100 - MAX_DEPTH) + "x"


def test_where_a_logger_was_called_is_no_message() -> None:
    time = "2026-03-17 01:02:03"
    assert texts(
        f"{time},004 ERROR scheduler.py:3190 It failed",
        f"{time} WARNING sglang.srt.managers.scheduler: It failed",
        f"{time},004 ERROR [http_server] Error: x",
        f"{time},004 ERROR torch.cuda.OutOfMemoryError: CUDA out of memory",
        f"{time} ERROR RuntimeError: x",
        f"{time},004 [ERROR] RuntimeError: x",
        f"[{time},004] [ERROR] [loader.py:203:load] It failed",
    ) == [
        f"[{time}] ERROR:    It failed",
        f"[{time}] WARNING:  It failed",
        f"[{time}] ERROR:    [http_server] Error: x",
        f"[{time}] ERROR:    torch.cuda.OutOfMemoryError: CUDA out of memory",
        f"[{time}] ERROR:    RuntimeError: x",
        f"[{time}] ERROR:    RuntimeError: x",
        f"[{time}] ERROR:    It failed",
    ]
