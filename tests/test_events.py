"""Lines -> events: streams apart, entries whole, data left alone."""

from __future__ import annotations

from tests.helpers import events_of


def told(text: str) -> list[tuple[str, str | None, str, str | None]]:
    return [(event.kind, event.exception, event.message, event.rank) for event in events_of(text) if not event.inside]


TRACEBACK = """[2026-11-30 08:14:58 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/x/sglang/srt/a.py", line 10, in run
    go()
ValueError: no

"""


def test_traceback_takes_rank_and_time_of_its_heading() -> None:
    event = events_of(TRACEBACK)[0]
    assert (event.rank, event.time, event.heading) == (
        "TP0",
        "2026-11-30 08:14:58",
        "Scheduler hit an exception",
    )
    assert (event.line, event.end_line, event.cut) == (4, 4, "")


def test_lines_behind_a_traceback_do_not_inherit_its_rank() -> None:
    events = events_of(TRACEBACK + "RuntimeError: Rank 0 scheduler died during initialization (exit code: 1).\n")
    assert [event.rank for event in events] == ["TP0", None]


def test_message_before_the_traceback_is_an_event_of_its_own() -> None:
    text = (
        "[2026-11-30 08:14:58] Error in request: bad\nTraceback (most recent call last):\n"
        + TRACEBACK.partition("\n")[2]
    )
    assert told(text)[:2] == [
        ("message", None, "Error in request: bad", None),
        ("traceback", "ValueError", "no", None),
    ]


def test_native_lines_cut_into_a_traceback() -> None:
    head, _, tail = TRACEBACK.partition("    go()\n")
    text = head + "pod-0:1:2 [1] NCCL INFO hello\n" + "    go()\n" + tail
    assert ("traceback", "ValueError", "no", "TP0") in told(text)


def test_another_rank_cuts_into_a_traceback() -> None:
    head, _, tail = TRACEBACK.partition("    go()\n")
    text = head + "[2026-11-30 08:14:58 TP1] Load weight begin. avail mem=78.21 GB\n" + tail
    assert ("traceback", "ValueError", "no", "TP0") in told(text)


def test_two_ranks_fail_one_after_the_other() -> None:
    text = TRACEBACK + TRACEBACK.replace("TP0", "TP1").replace("no", "none")
    assert [(name, message, rank) for _, name, message, rank in told(text)] == [
        ("ValueError", "no", "TP0"),
        ("ValueError", "none", "TP1"),
    ]


def test_configuration_and_requests_are_data() -> None:
    lines = [
        "[2026-11-30 08:14:58] server_args=ServerArgs(model_path='x', error='RuntimeError: no', crash_dump_folder=None)",
        "[2026-11-30 08:14:58] Receive: obj=GenerateReqInput(text='Traceback (most recent call last): ValueError: no')",
        '[2026-11-30 08:14:58] {"timestamp": "2026", "event": "request.received", "obj": "KeyError: 1"}',
        "[2026-11-30 08:14:58 TP0] Decode batch, #running-req: 1, #token: 10",
        '[2026-11-30 08:14:58] INFO:     1.1.1.1:3 - "GET /Error: HTTP/1.1" 500 Internal Server Error',
    ]
    assert [event.message for event in events_of("\n".join(lines)) if event.kind != "message"] == []


def test_abort_reason_in_a_finished_request_is_read() -> None:
    line = (
        "[2026-11-30 08:14:58] Finish: obj=GenerateReqInput(rid='1'), out={'meta_info': {'finish_reason': {'type': 'abort', "
        "'message': 'Input is too long', 'status_code': 400}}}"
    )
    assert [event.message for event in events_of(line)] == ["Input is too long"]


def test_faulthandler_frames_are_of_the_current_thread() -> None:
    text = """Fatal Python error: Segmentation fault

Thread 0x00007f1c4bfff640 (most recent call first):
  File "/usr/lib/python3.10/threading.py", line 324 in wait

Current thread 0x00007f1c4bfff641 (most recent call first):
  File "/x/sglang/srt/b.py", line 20 in deepest
  File "/x/sglang/srt/a.py", line 10 in outer
"""
    event = events_of(text)[0]
    assert (event.kind, event.message) == ("native", "Fatal Python error: Segmentation fault")
    assert [frame.function for frame in event.frames] == ["outer", "deepest"]


def test_the_dump_of_a_crash_without_its_head_is_read() -> None:
    text = """Current thread 0x00007f1c4bfff641 (most recent call first):
  File "/x/sglang/srt/b.py", line 20 in deepest
  File "/x/sglang/srt/a.py", line 10 in outer
"""
    (event,) = events_of(text)
    assert event.kind == "native"
    assert [frame.function for frame in event.frames] == ["outer", "deepest"]
    idle = text.replace("Current thread", "Thread")
    assert not [event for event in events_of(idle) if event.kind == "native"]


def test_an_exception_set_in_markdown_is_read() -> None:
    for mark in ("`", "**", "```"):
        assert told(f"{mark}ValueError: the pool is too small{mark}\n") == [
            ("traceback", "ValueError", "the pool is too small", None)
        ]


def test_terminate_tells_what() -> None:
    text = (
        "terminate called after throwing an instance of 'c10::DistBackendError'\n"
        "  what():  [PG ID 2] NCCL watchdog died\n"
        "frame #0: c10::Error::Error + 0x1 (0x2 in libc10.so)\n"
    )
    event = events_of(text)[0]
    assert event.kind == "native" and "NCCL watchdog died" in event.message


def test_a_blank_line_behind_terminate_does_not_hide_what() -> None:
    (event,) = events_of("terminate called after throwing an instance of 'x::Error'\n\n  what():  the plan is stale\n")
    assert event.message.endswith("what():  the plan is stale")


def test_asyncio_prints_the_exception_as_a_repr() -> None:
    text = (
        "[2026-01-11 12:03:30] Task exception was never retrieved\n"
        "future: <Task finished name='Task-8' coro=<f()> exception=ValueError(\"gone\")>\n"
        "Traceback (most recent call last):\n"
        '  File "a.py", line 1, in f\n'
        "asyncio.exceptions.CancelledError\n"
    )
    assert ("traceback", "ValueError", "gone", None) in told(text)


def test_logging_failure_keeps_the_message() -> None:
    text = (
        "--- Logging error ---\nTraceback (most recent call last):\n"
        '  File "a.py", line 1, in emit\n    self.stream.write(text)\nRuntimeError: reentrant call inside x\n'
        "Call stack:\n"
        '  File "b.py", line 2, in handler\n    logger.error(\n'
        "Message: 'Received sigquit from a child process.'\nArguments: ()\n"
    )
    messages = [event.message for event in events_of(text)]
    assert "Received sigquit from a child process." in messages
    assert events_of(text)[0].heading == "--- Logging error ---" or any(
        event.heading == "--- Logging error ---" for event in events_of(text)
    )


def test_escaped_line_ends_are_put_back() -> None:
    text = '{"help": "Traceback (most recent call last):\\n  File \\"a.py\\", line 1, in f\\n    x()\\nTypeError: no"}'
    events = [event for event in events_of(text) if event.kind == "traceback"]
    assert events and events[0].exception == "TypeError" and events[0].message.startswith("no")
