"""News while a log grows; the same findings as reading the finished file."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explain.announce import TerminalAnnouncer
from explain.live import Live, News, Told
from explain.model import Report
from explain.render.text import TIMES
from tests.contexts.servers import DECODE, DECODE_FRAMES, FORWARD_FRAMES, NO_POOL, POOL_FRAMES, Server
from tests.helpers import explain_text, matcher, summary
from tests.scoring import SHARED, cases

CASES = cases() if (SHARED / "cases").is_dir() else []
FAILURE = (
    "[2026-11-30 08:14:58 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    '  File "/x/sglang/srt/mem_cache/common.py", line 197, in alloc_token_slots\n'
    "    raise RuntimeError(text)\n"
    "RuntimeError: Decode out of memory. Try to lower your batch size.\n\n"
)
ECHO = "[2026-11-30 08:14:59] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n"
READY = "[2026-11-30 08:15:40] The server is fired up and ready to roll!\n"
ORDINARY = '[2026-11-30 08:15:41] INFO:     10.0.0.1:4 - "GET /health HTTP/1.1" 200 OK\n'


def live() -> Live:
    return Live(matcher(), ["server.log"])


def kinds(news: list[News]) -> list[tuple[str, str]]:
    return [(one.kind, one.finding.role) for one in news]


def test_a_failure_is_told_once_and_counted_after() -> None:
    one = live()
    one.feed(0, 0, FAILURE.encode(), 0.0)
    one.feed(0, 0, ORDINARY.encode(), 0.1)
    assert kinds(list(one.news(0.2))) == [("new", "cause")]
    one.feed(0, 0, (FAILURE + ORDINARY).encode(), 5.0)
    (again,) = one.news(5.1)
    assert (again.kind, again.more, again.finding.count) == ("again", 1, 2)
    assert list(one.news(9.0)) == []


def test_an_open_traceback_is_told_after_a_second_of_silence() -> None:
    one = live()
    one.feed(0, 0, FAILURE.rstrip("\n").encode() + b"\n", 0.0)
    assert list(one.news(0.5)) == []
    assert one.waiting
    assert kinds(list(one.news(1.1))) == [("new", "cause")]
    assert not one.waiting


def test_a_partial_line_waits_for_its_end() -> None:
    one = live()
    text = FAILURE.encode()
    one.feed(0, 0, text[:-40], 0.0)
    assert list(one.news(0.1)) == []
    one.feed(0, 0, text[-40:], 0.5)
    assert kinds(list(one.news(2.0))) == [("new", "cause")]


def test_consequences_name_their_cause() -> None:
    one = live()
    one.feed(0, 0, (FAILURE + ECHO + ORDINARY).encode(), 0.0)
    news = list(one.news(0.1))
    assert kinds(news) == [("new", "cause"), ("new", "consequence")]
    assert news[1].lead is not None and news[1].lead.id == news[0].finding.id


def test_the_server_is_back() -> None:
    one = live()
    one.feed(0, 0, (FAILURE + ECHO).encode(), 0.0)
    list(one.news(2.0))
    one.feed(0, 0, READY.encode(), 42.0)
    (back,) = one.news(42.0)
    assert (back.kind, back.seconds) == ("back", pytest.approx(40.0))
    one.feed(0, 0, READY.encode(), 50.0)
    assert list(one.news(52.0)) == []


def test_healthy_lines_tell_nothing() -> None:
    one = live()
    one.feed(0, 0, (READY + ORDINARY * 1000).encode(), 0.0)
    assert list(one.news(5.0)) == []


def test_settled_bytes_leave_out_what_is_open() -> None:
    one = live()
    one.feed(0, 0, (ORDINARY + FAILURE).encode(), 0.0)
    back, line = one.settled(0, 0)
    assert (back, line) == (len(FAILURE), 2)
    list(one.news(2.0))
    assert one.settled(0, 0) == (0, 2 + FAILURE.count("\n"))
    one.feed(0, 0, b"half a line", 3.0)
    assert one.settled(0, 0)[0] == len("half a line")


@pytest.mark.skipif(not CASES, reason="the labelled cases are not here (../shared)")
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(CASES), st.lists(st.integers(1, 400), min_size=1, max_size=8), st.integers(0, 2**32))
def test_following_equals_reading_the_finished_file(case, sizes, seed) -> None:  # type: ignore[no-untyped-def]
    """Any pieces, with pauses shorter than a second between them."""
    dice = random.Random(seed)
    data = case[1]["log"].encode()
    one, now, position, turn = live(), 0.0, 0, 0
    told: list[News] = []
    while position < len(data):
        size = sizes[turn % len(sizes)]
        one.feed(0, 0, data[position : position + size], now)
        position, turn = position + size, turn + 1
        now += dice.random() * 0.9
        told += one.news(now)
    told += one.finish(now)
    assert summary(one.report(0.0)) == summary(explain_text(case[1]["log"], head=0))
    assert len({news.finding.id for news in told if news.kind == "new"}) == sum(news.kind == "new" for news in told)


def followed(data: bytes, dice: random.Random) -> Report:
    """What a follower knows of a log that arrives in pieces of all sizes, with pauses shorter than a second."""
    one, now, position = live(), 0.0, 0
    while position < len(data):
        size = dice.randint(1, dice.choice((1, 7, 60, 400, 5000, 40_000)))
        one.feed(0, 0, data[position : position + size], now)
        position, now = position + size, now + dice.random() * 0.9
        list(one.news(now))
    list(one.finish(now))
    return one.report(0.0)


LOGS = [(f"case {name}", case["log"].encode()) for name, case in CASES] + [
    (path.name, path.read_bytes()) for path in sorted((SHARED / "real_logs").rglob("*.log"))
]


@pytest.mark.skipif(not CASES, reason="the labelled cases are not here (../shared)")
@pytest.mark.parametrize(("name", "data"), LOGS, ids=[name for name, _ in LOGS])
def test_every_case_and_real_log_is_followed_as_it_is_read(name: str, data: bytes) -> None:
    assert summary(followed(data, random.Random(name))) == summary(explain_text(data, head=0))


@pytest.mark.skipif(not CASES, reason="the labelled cases are not here (../shared)")
def test_reading_the_head_of_a_finished_log_at_once_changes_next_to_nothing() -> None:
    """A finished log may be a paste, whose lines were wrapped or turned round; one that grows is none."""
    other = [name for name, data in LOGS if summary(explain_text(data)) != summary(explain_text(data, head=0))]
    assert len(other) <= len(LOGS) // 50, other


@pytest.mark.skipif(not CASES, reason="the labelled cases are not here (../shared)")
def test_memory_of_findings_is_bounded_and_new_ones_are_still_told() -> None:
    from explain.diagnosis import MAX_FINDINGS

    one = live()
    names = ["".join(chr(97 + (number // 26**place) % 26) for place in range(3)) for number in range(MAX_FINDINGS + 50)]
    new = 0
    for name in names:
        one.feed(
            0,
            0,
            FAILURE.replace("Decode out of memory. Try to lower your batch size.", f"strange {name}").encode(),
            0.0,
        )
        new += sum(news.kind == "new" for news in one.news(10.0))
    assert new == len(names)
    assert len(one.explainer.findings()) == MAX_FINDINGS


# --------------------------------------------------------------------------- what is printed

LAUNCH = "[2026-11-30 08:10:00] server_args=ServerArgs(model_path='/models/tiny', tp_size=1)\n"
OTHER = FAILURE.replace("Decode out of memory. Try to lower your batch size.", "strange")


class Screen:
    """What an announcer printed; `owned` as a terminal whose last line is ours."""

    def __init__(self, *, owned: bool) -> None:
        self.text, self.owned, self.live = "", owned, live()
        self._announcer = TerminalAnnouncer(self._write, lambda: self.owned, lambda: 80, False)

    def _write(self, text: str) -> None:
        self.text += text

    def feed(self, text: str, now: float) -> str:
        """What is printed on `text`."""
        before = len(self.text)
        self.live.feed(0, 0, text.encode(), now)
        for news in self.live.news(now):
            self._announcer.tell(news, self.live)
        return self.text[before:]


def test_a_block_does_not_say_that_a_server_which_just_died_did_not_come_back() -> None:
    screen = Screen(owned=True)
    screen.feed(LAUNCH + READY, 0.0)
    assert "CAUSE" in screen.feed(FAILURE + ECHO + ORDINARY, 1.0)
    assert "did not come back" not in screen.text


def test_time_until_the_server_is_back_is_that_of_the_log() -> None:
    screen = Screen(owned=False)
    screen.feed(LAUNCH + READY + FAILURE + ECHO + ORDINARY, 1.0)
    assert "The server is back, 42 s after" in screen.feed(LAUNCH + READY, 2.0)


def test_findings_that_repeat_in_turn_do_not_print_a_line_each_time() -> None:
    screen = Screen(owned=True)
    screen.feed(FAILURE + OTHER + ORDINARY, 0.0)
    for second in range(1, 100):
        screen.feed(FAILURE + ORDINARY, second)
        screen.feed(OTHER + ORDINARY, second + 0.5)
    assert screen.text.count("\n  ") - screen.text.count("\n  2 ") < 80
    assert sum(TIMES in line for line in screen.text.split("\n")) <= 6


def test_consequences_are_not_counted_beside_their_cause() -> None:
    screen = Screen(owned=True)
    screen.feed(FAILURE + ECHO + ORDINARY, 0.0)
    shown = screen.feed(FAILURE + ECHO + ORDINARY, 5.0)
    assert shown.count(TIMES) == 1 and "SIGQUIT" not in shown


def test_a_background_job_rewrites_nothing() -> None:
    screen = Screen(owned=True)
    screen.feed(FAILURE + ORDINARY, 0.0)
    assert "\x1b[K" in screen.feed(FAILURE + ORDINARY, 1.0) + screen.feed(FAILURE + ORDINARY, 2.0)
    screen.owned = False
    for second in range(3, 40):
        assert "\x1b" not in screen.feed(FAILURE + ORDINARY, second)
    assert screen.text.endswith("\n")


def test_a_start_before_the_failure_is_no_recovery_from_it() -> None:
    one = live()
    one.feed(0, 0, (LAUNCH + READY + FAILURE + ECHO + ORDINARY).encode(), 0.0)
    assert [kind for kind, _ in kinds(list(one.news(0.1)))] == ["new", "new"]
    one.feed(0, 0, (LAUNCH + READY).encode(), 30.0)
    assert [kind for kind, _ in kinds(list(one.news(30.1)))] == ["back"]


def test_a_failure_and_the_recovery_from_it_in_one_piece() -> None:
    one = live()
    one.feed(0, 0, (LAUNCH + READY + FAILURE + ECHO + LAUNCH + READY).encode(), 0.0)
    assert [kind for kind, _ in kinds(list(one.news(0.1)))] == ["new", "new", "back"]


INTERRUPTED = (
    "Process Process-2:\n"
    "Traceback (most recent call last):\n"
    '  File "/x/sglang/srt/managers/detokenizer_manager.py", line 561, in run_detokenizer_process\n'
    "    manager.event_loop()\n"
    '  File "/x/zmq/sugar/socket.py", line 1033, in recv_pyobj\n'
    "    msg = self.recv(flags)\n"
    "KeyboardInterrupt\n"
    "[2026-11-30 11:44:41] INFO:     Shutting down\n"
    "Traceback (most recent call last):\n"
    '  File "/x/asyncio/runners.py", line 118, in run\n'
    "    return self._loop.run_until_complete(task)\n"
    "asyncio.exceptions.CancelledError\n"
    "\n"
    "During handling of the above exception, another exception occurred:\n"
    "\n"
    "Traceback (most recent call last):\n"
    '  File "/x/sglang/launch_server.py", line 84, in <module>\n'
    "    run_server(server_args)\n"
    '  File "/x/asyncio/runners.py", line 123, in run\n'
    "    raise KeyboardInterrupt()\n"
    "KeyboardInterrupt\n"
)


def test_a_server_that_was_stopped_with_ctrl_c_did_not_fail() -> None:
    screen = Screen(owned=False)
    screen.feed(LAUNCH + READY + ORDINARY + INTERRUPTED, 0.0)
    screen.feed("", 5.0)
    assert screen.text == ""
    assert {finding.role for finding in screen.live.report(0.0).findings} == {"noise"}


def test_a_scheduler_that_was_aborted_is_the_cause() -> None:
    screen = Screen(owned=False)
    dump = (
        'Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n  File "/x/a.py", line 1 in f\n\n'
    )
    died = "[2026-11-30 09:07:37] Subprocess scheduler_0 (pid=20418) crashed with exit code -6. Trigger\n"
    screen.feed(LAUNCH + READY + dump + died + ECHO + ORDINARY, 0.0)
    first, *rest = screen.live.report(0.0).findings
    assert (first.role, first.record and first.record.slug) == ("cause", "child-aborted-exit-6")
    assert {finding.role for finding in rest} == {"consequence"}


def test_what_earlier_runs_counted_is_counted_on_and_what_is_read_again_is_not() -> None:
    first = live()
    first.feed(0, 0, (FAILURE + ORDINARY).encode() * 3, 0.0)
    assert kinds(list(first.news(0.1))) == [("new", "cause")]
    ((name, told),) = first.told.items()
    assert told.count == 3
    # The place was kept after two of them: the third is read again, a fourth is new.
    second = Live(matcher(), ["server.log"], None, {name: Told(told.role, 3, 0.0, 2)})
    second.feed(0, 0, (FAILURE + ORDINARY).encode(), 0.0)
    assert list(second.news(0.1)) == []
    second.feed(0, 0, (FAILURE + ORDINARY).encode(), 0.0)
    ((kind, count),) = [(news.kind, news.finding.count) for news in second.news(0.2)]
    assert (kind, count) == ("again", 4)


# ---------------------------------------------------------------------- rotation


def server(begin: str, **args: object) -> Server:
    return Server("0.5.10", begin=begin, **args)


def first_log(*, failed: bool = False) -> str:
    one = server("2026-11-30 08:00:00", model_path="org/first", mem_fraction_static=0.91)
    one.start()
    one.batches(3, running=4)
    if failed:
        one.exception("", DECODE_FRAMES, DECODE)
        one.sigquit()
    return one.text


def next_log(*parts: str) -> str:
    """The log of another server, `parts` of its start, that fails."""
    one = server("2026-11-30 09:00:00", model_path="org/second", mem_fraction_static=0.42)
    for part in parts:
        if part == "arguments":
            one.arguments()
        elif part == "loads":
            one.distributed()
            one.weights(70.0, 50.0)
            one.pool(1000, 20.0, 9.0)
        else:
            one.truth.pool_tokens = 1000
            one.ready()
    one.batches(3, running=2)
    one.exception("", FORWARD_FRAMES, "RuntimeError: something new")
    return one.text


def rotated(*logs: str) -> Report:
    one = live()
    for generation, log in enumerate(logs):
        one.feed(0, generation, log.encode(), float(generation))
        list(one.news(float(generation)))
    list(one.finish(10.0))
    return one.report(0.0)


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize("parts", [("loads", "ready"), ("loads",), ("ready",)])
def test_another_server_behind_a_rotation_does_not_inherit_arguments(parts: tuple[str, ...], failed: bool) -> None:
    report = rotated(first_log(failed=failed), next_log(*parts))
    assert report.findings[0].message == "something new"
    assert not report.context.server_args and report.context.model is None
    assert len(report.context.lifetimes) == 2
    old = [finding.recovery for finding in report.findings if finding.message.startswith("Decode out of memory")]
    assert [one and one.state for one in old] == ["restarted"] * failed


def test_a_server_that_failed_to_start_before_the_rotation_is_not_the_next_one() -> None:
    one = server("2026-11-30 08:00:00", model_path="org/first")
    one.arguments()
    one.weights(78.0, 2.0)
    one.exception("", POOL_FRAMES, NO_POOL)
    one.sigquit()
    assert not rotated(one.text, next_log("loads")).context.server_args


def test_the_same_server_keeps_its_arguments_over_a_rotation() -> None:
    report = rotated(first_log(), next_log(), next_log())
    assert report.findings[0].message == "something new"
    assert report.context.server_args["model_path"] == "org/first"
    assert report.context.server_args["mem_fraction_static"] == 0.91
    assert len(report.context.lifetimes) == 1


def test_a_start_that_a_rotation_cuts_in_two_is_one() -> None:
    lines = first_log().splitlines(keepends=True)
    for at in range(1, len(lines) - 9):
        report = rotated("".join(lines[:at]), "".join(lines[at:]) + next_log())
        assert report.context.server_args["model_path"] == "org/first", lines[at]
        assert len(report.context.lifetimes) == 1, lines[at]


def test_each_failure_is_told_with_the_arguments_of_its_own_server() -> None:
    """Lines of a rotated log count from 1 again: that of the first failure lies behind the second start's."""
    report = rotated(first_log(failed=True), next_log("arguments", "loads", "ready"))
    assert report.context.server_args["model_path"] == "org/second"
    only = rotated(first_log(failed=True), next_log("arguments", "loads", "ready").partition("Scheduler hit")[0])
    assert only.findings[0].message.startswith("Decode out of memory")
    assert only.context.server_args["model_path"] == "org/first"
