"""A server that stops going on while its log does; with what must not be taken for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from explain.lastlines import KEPT, LastLines
from explain.model import Report, Stall
from explain.render import json as json_format
from explain.render import markdown, terminal
from tests.contexts.servers import DECODE, DECODE_FRAMES, RELEASES, Server
from tests.contract import check_json_output
from tests.helpers import explain_text

GENERATES = ("0.5.2", "0.5.10", "0.5.18", "0.5.23")
"""Releases whose `/health` answers 200 only where the scheduler answers."""


def http(server: Server, method: str, path: str, status: int) -> None:
    server.say(f'INFO:     10.0.0.9:41000 - "{method} {path} HTTP/1.1" {status} Some Words')


def every_half_minute(server: Server, minutes: float, say: Callable[[], None]) -> None:
    for _ in range(int(minutes * 2)):
        server.wait(30)
        say()


def serving(release: str, tp: int = 1, queued: int = 0, running: int = 24, **args: object) -> Server:
    """A server that has just printed its last batch line."""
    server = Server(release, tp=tp, **args)
    server.start()
    server.batches(5, running=running)
    last = next(index for index in range(len(server.lines) - 1, 0, -1) if "Decode batch" in server.lines[index])
    server.lines[last] = server.lines[last].replace("#queue-req: 3", f"#queue-req: {queued}")
    return server


def hung(release: str, tp: int = 1, minutes: float = 7, **args: object) -> Server:
    server = serving(release, tp, **args)
    every_half_minute(server, minutes, lambda: http(server, "GET", "/health_generate", 503))
    return server


def stall(*servers: Server) -> Stall | None:
    return explain_text(*(server.text for server in servers)).context.stalled


def shown(report: Report, width: int = 90) -> str:
    return " ".join(terminal.render(report, width=width, color=False).split())


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("tp", [1, 4])
def test_no_batch_for_minutes_while_health_checks_fail(release: str, tp: int) -> None:
    report = explain_text(hung(release, tp).text)
    found = report.context.stalled
    assert found is not None and found.kind == "serving"
    assert (found.running, found.queued) == (24, 0) and 400 < found.seconds < 440
    assert "Decode batch" in hung(release, tp).lines[found.place.line - 1]
    assert found.until.line == len(hung(release, tp).lines)
    assert any(one.startswith("health checks failed") for one in found.because)
    check_json_output(json_format.render(report))
    text = shown(report)
    assert "NO BATCH FOR 7 MIN" in text and "24 requests running" in text and "py-spy dump --pid" in text
    assert "--watchdog-timeout 300" in text
    assert ("--soft-watchdog-timeout" in text) == (release in ("0.5.10", "0.5.18", "0.5.23"))
    assert b"no batch for 7 min" in markdown.render(report)


@pytest.mark.parametrize("release", RELEASES)
def test_a_queue_that_nobody_takes_from(release: str) -> None:
    server = serving(release, queued=9)
    every_half_minute(server, 5, lambda: server.say("Some other rank says something.", "TP1"))
    found = stall(server)
    assert found is not None and (found.queued, found.because) == (9, ())


def test_requests_that_come_in_and_are_never_finished() -> None:
    server = serving("0.5.2")
    every_half_minute(server, 4, lambda: server.say("Receive: obj=GenerateReqInput(rid='a', text='hello')"))
    found = stall(server)
    assert found is not None and found.because[0].startswith("requests came in and none was finished (first in line")
    server.say("Finish: obj=GenerateReqInput(rid='a'), out={'text': 'x'}")
    assert stall(server) is None


def test_requests_that_are_refused() -> None:
    server = serving("0.5.10")
    every_half_minute(server, 4, lambda: http(server, "POST", "/generate", 503))
    found = stall(server)
    assert found is not None and found.because[0].startswith("requests were answered with 503 (first in line")


# ------------------------------------------------------------------ what must not be claimed


@pytest.mark.parametrize("release", RELEASES)
def test_an_idle_server_does_not_hang(release: str) -> None:
    """The last decode line names running requests though they finished soon after it."""
    server = serving(release)
    every_half_minute(server, 20, lambda: http(server, "GET", "/health", 200))
    assert stall(server) is None


@pytest.mark.parametrize("release", GENERATES)
def test_a_health_check_that_is_answered_clears_it(release: str) -> None:
    server = hung(release)
    http(server, "GET", "/health", 200)
    assert stall(server) is None


def test_up_to_0_4_a_health_check_proves_nothing() -> None:
    server = serving("0.4.6.post5", queued=4)
    every_half_minute(server, 5, lambda: http(server, "GET", "/health", 200))
    assert stall(server) is not None
    http(server, "GET", "/health_generate", 200)
    assert stall(server) is None


def test_a_request_that_is_answered_clears_it() -> None:
    server = hung("0.5.10")
    http(server, "POST", "/v1/chat/completions", 200)
    assert stall(server) is None


def test_a_request_that_fails_after_hours_of_nothing_to_do_fails_for_its_own_reasons() -> None:
    server = serving("0.5.10")
    server.wait(7200)
    for _ in range(5):
        http(server, "POST", "/generate", 500)
        server.wait(60)
    server.say("Some other line.")
    assert stall(server) is None


def test_a_request_that_has_just_come_in_is_not_late() -> None:
    server = serving("0.5.2")
    server.wait(7200)
    server.say("Receive: obj=GenerateReqInput(rid='a', text='hello')")
    server.wait(5)
    server.say("Some other line.")
    assert stall(server) is None
    server.wait(150)
    server.say("Some other line.")
    assert stall(server) is not None


def test_a_pause_of_a_minute_is_none() -> None:
    assert stall(hung("0.5.10", minutes=1.5)) is None


def test_nothing_is_said_where_the_log_ends_with_the_batch() -> None:
    assert stall(serving("0.5.10", queued=9)) is None


def test_lines_without_a_time_say_nothing_about_time() -> None:
    server = serving("0.5.10", queued=9)
    server.bare(*['INFO:     10.0.0.9:41000 - "GET /health HTTP/1.1" 503 Service Unavailable'] * 500)
    assert stall(server) is None


@pytest.mark.parametrize(
    "line",
    [
        "SIGTERM received. signum=15 frame=None. Draining requests and shutting down...",
        "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].",
        "INFO:     Shutting down",
        "Entering DeepGEMM JIT Pre-Compile session. It may take a long time (typically 10-20 mins)",
    ],
)
def test_a_server_that_ends_or_compiles_does_not_hang(line: str) -> None:
    server = serving("0.5.10", queued=9)
    server.say(line)
    every_half_minute(server, 7, lambda: http(server, "GET", "/health", 503))
    assert stall(server) is None


def test_a_crash_is_told_as_a_crash() -> None:
    server = hung("0.5.10")
    server.exception("", DECODE_FRAMES, DECODE)
    server.sigquit()
    report = explain_text(server.text)
    assert report.context.stalled is None and report.findings[0].record is not None


def test_a_server_that_was_started_again_does_not_hang() -> None:
    server = hung("0.5.10")
    server.start()
    assert stall(server) is None
    server.batches(3, running=2)
    assert stall(server) is None


def test_an_interval_of_batch_lines_explains_a_pause() -> None:
    assert stall(hung("0.5.10", decode_log_interval=40)) is not None
    # At 1180 tokens a second, 24 requests make 49 steps a second.
    assert stall(hung("0.5.10", decode_log_interval=40_000)) is None


def test_levels_that_hide_batch_lines() -> None:
    assert stall(hung("0.5.10", log_level="warning")) is None


def test_what_users_write_is_no_batch_line() -> None:
    server = hung("0.5.10")
    server.say("Receive: obj=GenerateReqInput(text='Decode batch. #running-req: 9, #queue-req: 7')")
    assert stall(server) is None


# ------------------------------------------------------------------ where it stands


def docker(server: Server) -> str:
    return "".join(f"{_utc(line)} {line}\n" for line in server.lines)


def docker_json(server: Server) -> str:
    lines = ({"log": f"{line}\n", "stream": "stderr", "time": _utc(line)} for line in server.lines)
    return "".join(json.dumps(line) + "\n" for line in lines)


def kubernetes(server: Server) -> str:
    return "".join(f"{_utc(line)} stderr F {line}\n" for line in server.lines)


def _utc(line: str) -> str:
    local = datetime.fromisoformat(line[1:20]) if line.startswith("[20") else datetime(2026, 11, 30, 8, 5)
    return (local + timedelta(hours=7)).strftime("%Y-%m-%dT%H:%M:%S.123456789Z")


@pytest.mark.parametrize("carrier", [docker, docker_json, kubernetes])
def test_it_is_read_through_carriers(carrier: Callable[[Server], str]) -> None:
    found = explain_text(carrier(hung("0.5.10"))).context.stalled
    assert found is not None and (found.running, found.seconds) == (24, stall(hung("0.5.10")).seconds)  # type: ignore[union-attr]
    assert any("health checks failed" in one for one in found.because)


@pytest.mark.parametrize("sizes", [(), (4096,), (100_000, 7)])
def test_it_is_seen_however_long_the_log_goes_on(sizes: tuple[int, ...]) -> None:
    server = serving("0.5.10")
    first = len(server.lines)
    every_half_minute(server, 30, lambda: [http(server, "GET", "/health", 503) for _ in range(500)])
    report = explain_text(server.text, sizes=sizes)
    found = report.context.stalled
    assert len(server.text) > 20 * KEPT and found is not None
    assert found.until.line == len(server.lines) and 1790 < found.seconds < 1810
    assert found.place.line == next(n for n in range(first, 0, -1) if "Decode batch" in server.lines[n - 1])


def test_the_tail_counts_lines_over_blocks() -> None:
    tail = LastLines()
    tail.take(b"a\nDecode batch, #running-req: 1, #queue-req: 0\nb\n", 1)
    tail.take(b"c\n\nd 503\n", 4)
    assert tail.batch_line() == (2, b"Decode batch, #running-req: 1, #queue-req: 0")
    assert tail.after_batch() == {3: b"b", 4: b"c", 6: b"d 503"} and not tail.troubled()
    tail.take(b"x" * KEPT + b'\n "POST /x" 500\n', 7)
    assert tail.end()[8] == b' "POST /x" 500' and tail.troubled()


@pytest.mark.parametrize("cut", [0, 1, 3])
def test_a_closed_tail_says_the_same_and_holds_little(cut: int) -> None:
    block = b"[2026] x\n" * 100_000 + b"Decode batch, #running-req: 1, #queue-req: 2\n"
    rest = [b"b\n" * 50_000 + b"c\n", b"\n", b'"GET /health" 503\n'][:cut]
    tails = LastLines(), LastLines()
    for tail in tails:
        line = 1
        for data in (block, *rest):
            tail.take(data, line)
            line += data.count(b"\n")
    kept, dropped = tails
    before = kept.batch_line(), kept.after_batch(), kept.end(), kept.troubled()
    kept.close(keep=True)
    assert before == (kept.batch_line(), kept.after_batch(), kept.end(), kept.troubled())
    held = [kept._batch[0] if kept._batch else b"", *(data for data, _ in (*kept._since, *kept._last))]
    assert sum(map(len, held)) < 4 * KEPT
    dropped.close(keep=False)
    assert dropped.batch_line() == before[0] and dropped.end() == {} == dropped.after_batch()
    assert not dropped.troubled()


# ------------------------------------------------------------------ starts


def loading(release: str, tp: int, missing: tuple[str, ...] = ()) -> Server:
    server = Server(release, tp=tp)
    server.arguments()
    server.distributed()
    server.weights(78.0, 40.0, missing=missing)
    return server


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("tp", [1, 2, 8])
def test_weights_that_are_loaded_and_a_server_that_is_never_ready(release: str, tp: int) -> None:
    server = loading(release, tp)
    last = len(server.lines)
    every_half_minute(server, 12, lambda: http(server, "GET", "/health", 503))
    report = explain_text(server.text)
    found = report.context.stalled
    assert found is not None and found.kind == "starting" and found.step == "the weights were loaded"
    assert found.place.line == last and 700 < found.seconds < 730
    assert "NOT READY, NO STEP FOR 12 MIN" in shown(report)
    check_json_output(json_format.render(report))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("tp", "missing"), [(2, ("TP1",)), (8, ("TP0",)), (8, ("TP3", "TP5"))])
def test_a_rank_that_never_finished_loading_is_named(release: str, tp: int, missing: tuple[str, ...]) -> None:
    report = explain_text(loading(release, tp, missing).text)
    (words,) = report.context.unfinished
    assert words.startswith(f"{', '.join(missing)} began to load the weights and did not finish; the other ")
    assert words in shown(report) and "No failure found" not in shown(report)


@pytest.mark.parametrize("release", RELEASES)
def test_a_rank_that_never_began_to_load_is_named(release: str) -> None:
    server = loading(release, 4)
    server.lines = [line for line in server.lines if " TP2] Load weight" not in line]
    (words,) = explain_text(server.text).context.unfinished
    assert words == "TP2 never began to load the weights; the other 3 ranks did"


def test_ranks_of_other_nodes_are_not_missed() -> None:
    server = loading("0.5.10", 4)
    server.args["nnodes"] = 2
    server.lines = []
    server.arguments()
    for rank in ("TP0", "TP1"):
        server.say("Load weight begin. avail mem=78.00 GB", rank)
    assert explain_text(server.text).context.unfinished == ()


def test_a_progress_bar_and_any_word_of_the_start_are_progress() -> None:
    server = loading("0.5.10", 1)
    for share in range(0, 100, 10):
        server.wait(60)
        server.bare(f"Loading safetensors checkpoint shards:  {share}% Completed | 1/9 [00:00<00:00]")
        http(server, "GET", "/health", 503)
    assert stall(server) is None
    every_half_minute(server, 6, lambda: http(server, "GET", "/health", 503))
    found = stall(server)
    assert found is not None and found.because[0].startswith("its last progress bar stands at 90 % (line ")
    server.say("Using default MoE kernel config.")
    assert stall(server) is None


def test_an_engine_without_a_server_never_says_that_it_is_ready() -> None:
    server = Server("0.5.10")
    server.start()
    limits = next(index for index, line in enumerate(server.lines) if "max_total_num_tokens=" in line)
    del server.lines[limits + 1 :]
    every_half_minute(server, 30, lambda: server.bare("2026-11-30 09:00:00 - trainer - INFO - step 12 done"))
    assert stall(server) is None


def test_a_server_that_is_ready_is_no_start() -> None:
    server = Server("0.5.10")
    server.start()
    every_half_minute(server, 30, lambda: http(server, "GET", "/health", 200))
    assert stall(server) is None


@pytest.mark.parametrize("carrier", [docker, docker_json, kubernetes])
def test_a_start_is_measured_by_one_clock(carrier: Callable[[Server], str]) -> None:
    """The carrier's clock is hours ahead of the one that SGLang prints."""
    server = loading("0.5.10", 2)
    text = carrier(server)
    assert explain_text(text + text.splitlines()[-1].replace("Load weight end", "odd") + "\n").context.stalled is None
    every_half_minute(server, 8, lambda: http(server, "GET", "/health", 503))
    found = explain_text(carrier(server)).context.stalled
    assert found is not None and 480 <= found.seconds < 490


def test_the_summary_of_a_followed_log_tells_it() -> None:
    from explain.announce import TerminalAnnouncer
    from explain.live import Live
    from tests.helpers import matcher

    written: list[str] = []
    run = Live(matcher(), ["log"])
    for number, line in enumerate(hung("0.5.10").lines):
        run.feed(0, 0, f"{line}\n".encode(), float(number))
    list(run.finish(1000.0))
    TerminalAnnouncer(written.append, lambda: False, lambda: 90, False).summary(run, 1.0)
    assert "NO BATCH FOR 7 MIN" in "".join(written)


def test_a_followed_log_tells_it_while_it_happens_and_once() -> None:
    from explain.announce import TerminalAnnouncer
    from explain.live import STALL_SECONDS, Live
    from tests.helpers import matcher

    run = Live(matcher(), ["log"])
    told: list[tuple[float, Report]] = []
    for number, line in enumerate(hung("0.5.10").lines):
        now = number * STALL_SECONDS
        run.feed(0, 0, f"{line}\n".encode(), now)
        if (report := run.stalled(now)) is not None:
            told.append((now, report))
    ((_, report),) = told
    found = report.context.stalled
    assert found is not None and 120 <= found.seconds <= 150
    written: list[str] = []
    TerminalAnnouncer(written.append, lambda: False, lambda: 90, False).stalled(report)
    assert "NO BATCH FOR 2 MIN" in "".join(written) and "py-spy dump" in "".join(written)


def test_a_followed_log_is_told_again_where_it_stops_again() -> None:
    from explain.live import Live
    from tests.helpers import matcher

    run = Live(matcher(), ["log"])
    server = hung("0.5.10", minutes=4)
    run.feed(0, 0, server.text.encode(), 0.0)
    assert run.stalled(100.0) is not None and run.stalled(200.0) is None
    before = len(server.text)
    server.batches(3, running=5)
    run.feed(0, 0, server.text[before:].encode(), 210.0)
    assert run.stalled(300.0) is None
    before = len(server.text)
    every_half_minute(server, 4, lambda: http(server, "GET", "/health", 503))
    run.feed(0, 0, server.text[before:].encode(), 310.0)
    assert run.stalled(400.0) is not None
