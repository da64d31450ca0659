"""Tracebacks as Python prints them, and as people paste them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.tracebacks import chain_of, is_exception_line, parse, split_inline

PLAIN = [
    "Traceback (most recent call last):",
    '  File "/x/sglang/srt/a.py", line 10, in outer',
    "    inner(1)",
    '  File "/x/sglang/srt/b.py", line 20, in inner',
    '    raise ValueError("no")',
    "ValueError: no",
    "second line",
]


def test_frames_class_and_message() -> None:
    found, end = parse(PLAIN)
    assert found is not None
    assert [(frame.file, frame.line, frame.function, frame.code) for frame in found.frames] == [
        ("/x/sglang/srt/a.py", 10, "outer", "inner(1)"),
        ("/x/sglang/srt/b.py", 20, "inner", 'raise ValueError("no")'),
    ]
    assert (found.exception, found.message, end) == ("ValueError", "no\nsecond line", 7)


@pytest.mark.parametrize(
    "mangle",
    [
        lambda lines: [line.lstrip() for line in lines],
        lambda lines: [part for line in lines for part in (line, "")],
        lambda lines: ["   " + line for line in lines],
        lambda lines: lines[1:],
        lambda lines: [lines[0], '  ile "' + lines[1].partition('"')[2], *lines[2:]],
    ],
    ids=["no-indentation", "blank-lines-doubled", "indented", "no-header", "first-letter-lost"],
)
def test_mangled_tracebacks_say_the_same(mangle) -> None:  # type: ignore[no-untyped-def]
    found, _ = parse(mangle(PLAIN))
    assert found is not None
    assert (found.exception, found.message.replace("\n\n", "\n")) == ("ValueError", "no\nsecond line")
    assert [frame.function for frame in found.frames] == ["outer", "inner"]


def test_markers_of_newer_pythons() -> None:
    found, _ = parse(
        [
            "Traceback (most recent call last):",
            '  File "a.py", line 1, in f',
            "    g(",
            "    ~^",
            "    ...<3 lines>...",
            "    )",
            "    ^",
            "  [Previous line repeated 7 more times]",
            "KeyError: 'x'",
        ]
    )
    assert found is not None
    assert (found.exception, found.message, found.frames[0].code) == ("KeyError", "'x'", "g(")


@pytest.mark.parametrize(
    ("sentence", "link"),
    [
        ("During handling of the above exception, another exception occurred:", "context"),
        ("The above exception was the direct cause of the following exception:", "cause"),
    ],
)
def test_chain(sentence: str, link: str) -> None:
    lines = [
        *PLAIN[:6],
        "",
        sentence,
        "",
        "Traceback (most recent call last):",
        '  File "c.py", line 1, in h',
        "OSError",
    ]
    found, _ = parse(lines)
    assert found is not None
    assert [one.exception for one in chain_of(found)] == ["ValueError", "OSError"]
    assert found.linked == link
    assert found.root.message == "no"


def test_exception_group_rails() -> None:
    found, _ = parse(
        [
            "  + Exception Group Traceback (most recent call last):",
            '  |   File "a.py", line 1, in f',
            "  |     run()",
            "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
        ]
    )
    assert found is not None and found.exception == "ExceptionGroup"


def test_frames_behind_the_exception() -> None:
    found, end = parse(["AssertionError: no slot", '  File "/x/sglang/srt/a.py", line 7, in f'])
    assert found is not None
    assert (found.exception, [frame.function for frame in found.frames], end) == ("AssertionError", ["f"], 2)


def test_cut_before_the_exception() -> None:
    found, _ = parse(PLAIN[:4])
    assert found is not None and found.exception is None and len(found.frames) == 2


def test_blank_lines_inside_a_message_belong_to_it() -> None:
    found, _ = parse(
        ["ImportError: ", "[sgl_kernel] CRITICAL: nothing loads", "", "Details:", "- one", "", "", "Killed"]
    )
    assert found is not None
    assert found.message.split("\n") == ["", "[sgl_kernel] CRITICAL: nothing loads", "", "Details:", "- one"]


@pytest.mark.parametrize("line", ["Killed", "./run.sh: line 22: 90411 Killed   python", "terminate called recursively"])
def test_other_writers_end_a_message(line: str) -> None:
    found, end = parse(["ValueError: no", line])
    assert found is not None and (found.message, end) == ("no", 1)


def test_lost_line_ends() -> None:
    text = 'Traceback (most recent call last): File "a.py", line 1, in f run() File "b.py", line 2, in g boom() KeyError: 4'
    found, _ = parse(split_inline(text))
    assert found is not None
    assert (found.exception, found.message, len(found.frames)) == ("KeyError", "4", 2)


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: x",
        "torch.OutOfMemoryError: CUDA",
        "AssertionError",
        "zmq.error.ZMQError: in use",
        "KeyError: 41",
        "socket.gaierror: [Errno -2] Name or service not known",
        "_queue.Empty",
        "subprocess.TimeoutExpired: Command 'x' timed out after 5 seconds",
    ],
)
def test_exception_lines(line: str) -> None:
    assert is_exception_line(line)


@pytest.mark.parametrize(
    "line",
    ["ERROR: x", "Error details from import:", "ncclSystemError: System call", "self.x: int = 4", "- ImportError: x",
     "1. set --mem-fraction-static", "Possible solutions:", "Message: 'x'", ""],
)  # fmt: skip
def test_lines_that_are_no_exception(line: str) -> None:
    assert not is_exception_line(line)


@given(st.lists(st.text(alphabet='File ", line 0in:^~|+ErrorTracebk(mostcl)\n', max_size=60), max_size=30))
def test_any_text_is_read_to_an_end(lines: list[str]) -> None:
    if lines:
        _, end = parse(lines)
        assert 0 <= end <= len(lines)


def test_time_is_linear_in_the_length() -> None:
    """Twice the lines take about twice the time: the ratio stays far from quadratic."""

    def seconds(count: int) -> float:
        lines = [
            "Traceback (most recent call last):",
            *['  File "a.py", line 1, in f', "    x = 1"] * count,
            "KeyError: 1",
        ]
        best = 9.0
        for _ in range(3):
            start = time.perf_counter()
            parse(lines)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(8_000) < 24 * max(seconds(1_000), 1e-4)
