"""Lines that are taken many at once, or not read at all, leave the same report as lines that are read one by one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from explain import engine
from explain.engine import Explainer, explain_sources
from explain.entries import Entry, split, usual_event
from explain.model import Report
from explain.plainlines import plain_text
from explain.prefixes import read_prefix
from explain.repeats import Known, Repeats
from explain.values import replace
from explain.wholes import whole_traceback
from explain.windows import HEAD_BYTES, Here, RawLine
from tests.bench import inputs
from tests.bench.__main__ import literals
from tests.helpers import Text, matcher
from tests.scoring import cases

LOGS = Path(__file__).parent / "logs"


def mixture(seed: int, size: int = 500_000) -> str:
    """Failures of all kinds between ordinary lines, dense stretches of one kind, and near-misses."""
    dice = random.Random(seed)
    kinds = [
        inputs.serving_lines(dice),
        inputs.known_warnings(dice),
        inputs.different_tracebacks(dice),
        inputs.near_misses(literals())(dice),
        inputs.docker_json(inputs.serving_lines(dice)),
    ]
    pastes = [path.read_text("utf-8") for path in sorted(LOGS.glob("*.log"))]
    pastes += [case["log"] for _, case in cases()]
    parts: list[str] = []
    length = 0
    while length < size:
        if dice.random() < 0.3:
            part = dice.choice(pastes).rstrip("\n")
        else:
            lines = dice.choice(kinds)
            part = "\n".join(next(lines) for _ in range(dice.randrange(1, 300)))
        parts.append(part)
        length += len(part)
    return "\n".join(parts) + "\n"


def told(text: str, sizes: list[int], head: int = HEAD_BYTES) -> Report:
    shared = matcher()
    shared.forget()
    report = explain_sources([Text(text, sizes=sizes)], shared.catalogue, shared.sites, matcher=shared, head=head)
    return replace(report, stats=replace(report.stats, seconds=0.0))


@pytest.mark.parametrize("seed", range(6))
def test_lines_taken_at_once_tell_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = mixture(seed)
    dice = random.Random(seed)
    sizes = [dice.randrange(1_000, 200_000) for _ in range(9)]
    taken: list[int] = []
    several = Explainer._several

    def watched(self: Explainer, stream: object, here: Here) -> tuple[int, int] | None:
        found = several(self, stream, here)  # type: ignore[arg-type]
        if found is not None:
            taken.append(found[1])
        return found

    monkeypatch.setattr(Explainer, "_several", watched)
    fast = told(text, sizes)
    assert sum(taken) > 300, "nothing was taken at once: this test shows nothing"

    monkeypatch.setattr(Explainer, "_several", lambda self, stream, here: None)
    monkeypatch.setattr(engine, "plain_text", lambda data: None)
    single = told(text, sizes)
    assert in_short(single) == in_short(fast) and single.stats == fast.stats

    monkeypatch.setattr(Explainer, "_decide", lambda self, stream, raw: None)
    every = told(text, sizes)
    assert in_short(every) == in_short(fast), "lines of known shapes were counted otherwise than they are read"
    assert every.stats == fast.stats and every.context.ranks == fast.context.ranks


def in_short(report: Report) -> list[tuple[object, ...]]:
    """What was found, without times and order: a traceback that has no stamp of its own takes the time of the line
    before it, which may be one that was only counted."""
    return sorted(
        (
            one.role,
            one.count,
            one.ranks,
            one.first.line,
            one.last.line,
            one.message,
            one.record.id if one.record else "",
        )
        for one in report.findings
    )


def lines_of(text: bytes) -> Iterator[RawLine]:
    offset = 0
    for number, data in enumerate(text.splitlines(), 1):
        yield RawLine(number, data, False, offset)
        offset += len(data) + 1


def held(repeats: Repeats, data: bytes) -> RawLine:
    """The first line of `data`, whose shape is known and which waits to be counted."""
    first, *_ = lines_of(data)
    shape = None
    while shape is None:
        shape = repeats.worth_deciding(first)
    repeats.learn(shape, Known("pool", ""))
    assert repeats.take(first)
    return first


def test_a_run_ends_at_the_first_line_of_an_unknown_shape_and_holds_the_last_of_its_own() -> None:
    counted: list[int] = []
    repeats = Repeats(lambda lines: counted.extend(number for _, number, _ in lines), lambda raw: None)
    data = b"".join(b"[2026-11-30 08:00:0%d] a pool is full: %d\n" % (n, n * 7) for n in range(6))
    data += b"[2026-11-30 08:00:07] something else\n"
    first = held(repeats, data)
    start = len(first.data) + 1
    assert repeats.run(Here(data, start, 2, 0, 1, [], 0, 40)) == (data.index(b"[2026-11-30 08:00:07"), 5)
    assert counted == [1, 2, 3, 4, 5] and repeats.held is not None and repeats.held.number == 6
    assert repeats.run(Here(data, data.index(b"[2026-11-30 08:00:07"), 7, 0, 6, [], 0, 40)) is None


def test_a_run_takes_no_more_lines_than_are_read_for_certain() -> None:
    repeats = Repeats(lambda lines: None, lambda raw: None)
    data = b"[2026-11-30 08:00:00] a pool is full: 1\n" * 50
    first = held(repeats, data)
    assert repeats.run(Here(data, len(first.data) + 1, 2, 0, 1, [], 0, 7)) == (8 * (len(first.data) + 1), 7)


@pytest.mark.parametrize("spots", [0, 200])
def test_a_run_of_lines_without_a_literal_ends_where_one_stands(spots: int) -> None:
    """Few spots or so many that the whole block is split."""
    repeats = Repeats(lambda lines: None, lambda raw: None)
    line = b"[2026-11-30 08:00:00] took %d ms\n"
    data = line % 1 + line % 2 + line % 3 + line % 4
    first, *others = lines_of(data)
    shape = repeats.worth_deciding(first._replace(spot=False)) or repeats.worth_deciding(first._replace(spot=False))
    assert shape is not None
    repeats.learn(shape, Known(None, "", spotless=True))
    assert not repeats.take(first) and repeats.take(first._replace(spot=False))
    third = others[1].offset
    ends = [third + 9, *range(len(data) + 1, len(data) + spots)]
    assert repeats.run(Here(data, others[0].offset, 2, 0, 1, ends, 0, 40)) == (third, 1)
    assert repeats.run(Here(data, third, 3, 0, 2, ends, 0, 40)) is None


STAMP = "[2026-11-30 08:{minute:02}:{second:02} TP{rank}] "
BATCH = (
    STAMP
    + "Decode batch, #running-req: {rank}1, #token: 515131, token usage: 0.22, cuda graph: True, gen throughput (token/s): 4961.25, #queue-req: 6{rank}"
)
WARNING = STAMP + "Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.1511 -> 0.1902"
FAILURE = """[2026-11-30 08:59:59 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/a/sglang/srt/x.py", line 3, in f
    g()
ValueError: whatever it is"""


def batches(wrap: Callable[[str], str]) -> Report:
    """Of batch lines between warnings, so many that most are counted."""
    kinds = [BATCH if n % 10 else WARNING for n in range(4000)]
    lines = [kind.format(minute=n // 80, second=n % 60, rank=n % 8) for n, kind in enumerate(kinds)]
    return told("\n".join(wrap(line) for line in [*lines, *FAILURE.split("\n")]) + "\n", [400_000])


def test_counted_batch_lines_say_all_that_read_ones_say() -> None:
    plain, carried = batches(lambda line: line), batches(in_docker)
    assert {one.fields["#queue-req"] for one in plain.context.batches} == {60, 61, 62, 63, 64, 65, 66, 67}
    assert [(one.rank, one.fields) for one in carried.context.batches] == [
        (one.rank, one.fields) for one in plain.context.batches
    ]
    assert set(plain.context.ranks) == set(carried.context.ranks) == {f"TP{rank}" for rank in range(8)}


def in_docker(line: str) -> str:
    return f'{{"log":{orjson.dumps(line + chr(10)).decode()},"stream":"stderr","time":"2026-11-30T08:00:00.123Z"}}'


def with_time(line: str) -> str:
    return f"2026-11-30T08:00:00.123000000Z {line}"


@pytest.mark.parametrize("wrap", [in_docker, with_time, str])
def test_what_continues_a_known_line_is_told_with_it_through_a_carrier_too(
    wrap: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [STAMP.format(minute=0, second=n, rank=1) + f"{n} requests wait" for n in range(5)]
    lines = [*known, "ValueError: whatever it is", *FAILURE.split("\n"), *known, "RuntimeError: CUDA error: whatever"]
    panics = [STAMP.format(minute=1, second=n, rank=1) + "thread 'main' panicked at" for n in range(5)]
    lines += [*panics, "[2026-11-30 08:01:0", *panics, "[2048, 2] is no shape"]
    text = "\n".join(wrap(line) for line in lines) + "\n"
    fast = told(text, [], head=0)
    assert any(finding.first.time == "2026-11-30 08:00:04" for finding in fast.findings)
    monkeypatch.setattr(Explainer, "_several", lambda self, stream, here: None)
    monkeypatch.setattr(Explainer, "_decide", lambda self, stream, raw: None)
    assert told(text, [], head=0) == fast


def test_an_indented_stamp_is_no_code_of_a_traceback_that_is_indented_itself() -> None:
    failure = ["    " + line for line in FAILURE.replace("08:59:59", "08:00:00").split("\n")]
    report = told("\n".join([failure[0], *failure]) + "\n", [], head=0)
    assert sum(finding.count for finding in report.findings) == 2


HEADER = "[2026-11-30 08:59:59 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
FRAMES = '  File "/a/sglang/srt/x.py", line 3, in f\n    g("ü")\n    ~^^^^^\n  File "/a/sglang/srt/y.py", line 9, in g\n    h()\n'
NEXT = "[2026-11-30 09:00:00] Goodbye\n"


@pytest.mark.parametrize("blank", ["", "\n"])
def test_a_traceback_is_taken_whole(blank: str) -> None:
    whole = HEADER + FRAMES + "ValueError: it is 3\n" + blank
    found = whole_traceback((NEXT + whole + NEXT).encode(), len(NEXT))
    assert found is not None and found.exception == "ValueError: it is 3"
    assert found.texts == whole[:-1].split("\n") and found.end == len((NEXT + whole).encode())


@pytest.mark.parametrize(
    ("frames", "at_once"),
    [
        ('  File "/a/x.py", line 3, in f\n    g("ü")\n  File "/a/y.py", line 9, in <module>\n    h()\n', True),
        (FRAMES, False),  # marks under the code
        ('  File "/a/x.py", line 3, in f\n    g(a &amp; b)\n', False),
        ('  File "/a/x.py", line 3, in f\n    g("a\\nb")\n', False),
        ('  File "/a/x.py", line 3, in f\n  File "/a/y.py", line 9, in g\n    h()\n', False),
        ('  File "/a/x.py", line 3, in f g\n    h()\n', False),
        ('  File "/a/x.py", line 3, in f\n    File "b", line 4\n', False),
    ],
)
def test_a_traceback_read_at_once_is_the_event_of_its_lines(frames: str, at_once: bool) -> None:
    text = HEADER + frames + "ValueError: it is 3 \n\n"
    whole = whole_traceback((text + NEXT).encode(), 0)
    assert whole is not None
    prefix = read_prefix(whole.texts[0])
    assert prefix is not None
    event = usual_event(1, prefix, 7, whole)
    assert (event is not None) is at_once
    if event is not None:
        lines = tuple(enumerate((prefix.rest, *whole.texts[1:]), 7))
        assert list(split(Entry(1, prefix, "", prefix.time, 0, lines))) == [event]


@pytest.mark.parametrize(
    "text",
    [
        HEADER + FRAMES + "ValueError: it is 3\n",  # whether more comes is not known
        HEADER
        + FRAMES
        + "ValueError: it is 3\n\nDuring handling of the above exception, another exception occurred:\n"
        + NEXT,
        HEADER + FRAMES + "ValueError: it is 3\nand more of it\n" + NEXT,
        HEADER + FRAMES + "ncclSystemError: Last error\n" + NEXT,  # stands inside NCCL's own messages
        HEADER + FRAMES + NEXT,
        HEADER + "ValueError: it is 3\n" + NEXT,
        HEADER.replace("Scheduler", '{"log":"') + FRAMES + "ValueError: it is 3\n" + NEXT,
        NEXT + HEADER + FRAMES + "ValueError: it is 3\n" + NEXT,
    ],
)
def test_a_traceback_whose_end_or_start_is_not_sure_is_read_line_by_line(text: str) -> None:
    assert whole_traceback(text.encode(), 0) is None


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        (b"[2026-11-30 08:00:00 TP0] Load weight begin.", True),
        (b'[2026-11-30 08:00:00] INFO:     10.0.0.7:61962 - "POST /v1/chat/completions HTTP/1.1" 200 OK', True),
        (
            b'[2026-11-30 08:00:00] INFO:     10.0.0.7:61962 - "POST /generate HTTP/1.1" 200 OK\\n","stream":"stderr"}',
            False,
        ),
        (b'[2026-11-30 08:00:00] INFO:     10.0.0.7:61962 - "POST /generate?key=a HTTP/1.1" 200 OK', False),
        (b"[2026-11-30 08:00:00] INFO:     whatever it is", False),
        (b"[2026-11-30 08:00:00 XY3] Load weight begin.", True),
        (b"[2026-11-30 08:00:00 of 3] Load weight begin.", False),
        (b"[2026-11-30 08:00:00] ValueError: whatever it is", False),
        (b'{"log":"[2026-11-30 08:00:00] Load weight begin."}', False),
    ],
)
def test_lines_that_are_surely_nothing(line: bytes, plain: bool) -> None:
    assert (plain_text(line) == line.decode()) is plain
