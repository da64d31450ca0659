"""A server that stopped going on while its log did: no batch for minutes, a start that does not end.

That a line is missing proves little: an idle server prints none either, and the last batch line before it
nearly always names running requests. So something must say that work was left over (a queue, failing health
checks, requests that are refused or not answered), and nothing may say that it was done. What is found is
told as what it is: when which line came last, and what came after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from explain.carriers import Carriers
from explain.expressions import expression
from explain.lastlines import LastLines
from explain.launch import LaunchReader, Start
from explain.model import Place, Stall
from explain.prefixes import read_prefix
from explain.startup import batch
from explain.times import seconds_between

FEWEST_SECONDS = 120.0
"""Shorter pauses are ordinary: a long prefill, a kernel that is compiled."""
FEWEST_SECONDS_OF_START = 300.0
GRACE_SECONDS = 30.0
"""What was answered so soon after the last batch line was computed before it."""
NEAR_SECONDS = 300.0
"""A request that fails so long after the last batch may fail for its own reasons."""
_MANY_INTERVALS = 5
"""So many times the usual distance between batch lines is no chance."""
_READ_FOR_TIME = 400
_ACCESS = expression(r"\"(?P<method>GET|POST|PUT) (?P<path>\S*) HTTP/[\d.]+\"? (?P<status>\d{3})\b")
_ENDED = expression(
    r"SIGTERM|SIGINT|(?i:sigquit)|raceful(?:ly)? (?:exit|shutdown)|Shutting down|Finished server process|"
    r"Application shutdown complete|KeyboardInterrupt|kill_process_tree|received during shutdown"
)
_BUSY = expression(r"DeepGEMM|Captur(?:e|ing) |Autotun|autotun|Compil(?:e|ing) |/pause_generation|release_memory_occup")
"""What keeps a server from printing batches for good reason."""
_WORDS = expression(
    rb"HTTP/|Health check failed|Receive: |Finish: |SIG|sigquit|raceful|Shutting down|shutdown|Finished server|"
    rb"KeyboardInterrupt|kill_process|DeepGEMM|Captur|utotun|Compil|pause_generation|release_memory"
)
"""Bytes of lines that may be one of those."""
_UVICORN = ("Uvicorn running on", "Application startup complete", "Started server process", "INFO: ")
_WAITS = expression(r"HTTP/[\d.]+\"? \d{3}\b|Health check|INFO: +|Waiting for|waiting for|still waiting|heartbeat")
_BAR = expression(r"(?P<done>\d{1,3})%(?:\||\s+Completed)")
_STEPS = {
    "distributed": "the process groups were set up",
    "weights_begin": "the weights began to load",
    "weights_end": "the weights were loaded",
    "pool_end": "the KV pool was allocated",
    "graph_begin": "the capture of graphs began",
    "graph_end": "the graphs were captured",
}


class Seen(NamedTuple):
    """A line, carriers gone. `printed` is SGLang's own time, `carried` the carrier's."""

    number: int
    text: str
    printed: str | None
    carried: str | None
    stamped: bool

    @property
    def time(self) -> str | None:
        return self.printed or self.carried

    def place(self, source: str) -> Place:
        return Place(source, self.number, self.time)


def stall_of(
    tails: Mapping[int, LastLines], launch: LaunchReader, names: Sequence[str], version: str | None
) -> Stall | None:
    """The server that stopped going on, None where no source shows one."""
    for source, tail in tails.items():
        if tail.troubled() and (found := _serving(tail, source, launch, names[source], version)):
            return found
    if not launch.starts or launch.starts[-1].stream[0] not in tails:
        return None
    source = launch.starts[-1].stream[0]
    return _starting(tails[source], launch.starts[-1], names[source])


# ------------------------------------------------------------------ serving


def _serving(tail: LastLines, source: int, launch: LaunchReader, name: str, version: str | None) -> Stall | None:
    raw = tail.batch_line()
    last = _read(Carriers(), *raw) if raw else None
    fields = batch(last.text) if last else None
    if last is None or fields is None or last.time is None:
        return None
    start = _start_at(launch, source, last.number)
    if _another_start(launch, source, last.number) or (start is not None and start.ended > last.number):
        return None
    args = start.args if start else {}
    running, queued = _number(fields[1], "#running-req"), _number(fields[1], "#queue-req")
    running += _number(fields[1], "#new-seq")
    after = tail.after_batch()
    until = _last_with_time(after, last)
    if until is None or running + queued == 0:
        return None
    seconds = seconds_between(*_same_clock(last, until))
    if seconds is None or seconds < max(FEWEST_SECONDS, _MANY_INTERVALS * _interval(fields[1], args)):
        return None
    if args.get("log_level") in ("warning", "error", "critical"):
        return None
    because = _left_over(after, last, seconds, version)
    if because is None or not (because or queued):
        return None
    return Stall(
        "serving", seconds, last.place(name), until.place(name), running=running, queued=queued, because=because
    )


def _left_over(after: Mapping[int, bytes], last: Seen, seconds: float, version: str | None) -> tuple[str, ...] | None:
    """What shows that work was left over; None where something shows that it was done, or that the server ended.

    A server may have been idle for hours before a request fails for its own reasons, or before the log ends with a
    request that has just come in: such lines count only near the last batch, or with some time behind them.
    """
    carriers = Carriers()
    found: dict[str, int] = {}
    for number, raw in after.items():
        if not _WORDS.search(raw):
            continue
        line = _read(carriers, number, raw)
        if _ENDED.search(line.text) or _BUSY.search(line.text):
            return None
        gap = seconds_between(*_same_clock(last, line))
        late = gap is None or gap > GRACE_SECONDS
        if line.text.startswith("Receive: "):
            if gap is not None and seconds - gap >= FEWEST_SECONDS:
                found.setdefault("requests came in and none was finished", number)
        elif line.text.startswith("Finish: ") and late:
            return None
        elif "Health check failed" in line.text:
            found.setdefault("health checks failed", number)
        elif access := _ACCESS.search(line.text.replace('\\"', '"')):
            if access["status"] == "200" and late and _computed(access["method"], access["path"], version):
                return None
            if access["status"][0] == "5" and access["path"].startswith(("/health", "/ready", "/readyz")):
                found.setdefault("health checks failed", number)
            elif access["status"][0] == "5" and access["method"] != "GET" and gap is not None and gap <= NEAR_SECONDS:
                found.setdefault(f"requests were answered with {access['status']}", number)
    return tuple(f"{words} (first in line {number})" for words, number in list(found.items())[:3])


def _computed(method: str, path: str, version: str | None) -> bool:
    """Whether an answer of 200 shows that the server computes."""
    if method != "GET":
        return True
    if path.startswith("/health_generate"):
        return True
    # Up to 0.4 `/health` answers 200 as long as the HTTP server lives.
    return path.startswith("/health") and not (version or "").startswith("0.4.")


def _interval(fields: Mapping[str, Any], args: Mapping[str, Any]) -> float:
    """Seconds between two decode lines at the printed speed; 0 where it is not known."""
    every, running = args.get("decode_log_interval"), _number(fields, "#running-req")
    speed = fields.get("gen throughput (token/s)")
    if not isinstance(every, int) or not isinstance(speed, int | float) or speed <= 0:
        return 0.0
    return every * max(running, 1) / speed


def _number(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    return int(value) if isinstance(value, int | float) else 0


# ------------------------------------------------------------------ starting


def _starting(tail: LastLines, start: Start, name: str) -> Stall | None:
    """A start that shows no step for minutes and was not ready when the log ends."""
    over = start.ready is not None or start.ended or start.refused or start.args.get("node_rank")
    raw = tail.batch_line()
    if over or not (start.line or start.steps) or (raw is not None and raw[0] > start.line):
        return None
    places = [start.place, *(one.place for one in start.steps), *(one.place for one in start.pools)]
    known = [one for one in places if one is not None and one.source == name]
    if not known:
        return None
    last = max(known, key=lambda one: one.line)
    step = next((_STEPS.get(one.step) for one in reversed(start.steps) if one.place == last), None)
    carriers = Carriers()
    lines = [_read(carriers, number, raw) for number, raw in tail.end().items() if number >= last.line]
    seen = Seen(last.line, "", last.time, None, True)
    if lines and lines[0].number == last.line:
        seen = lines.pop(0)
    if any(_ENDED.search(one.text) or _answered(one.text) for one in lines):
        return None
    if start.limits and not any(word in one.text for one in lines for word in _UVICORN):
        return None  # an engine without an HTTP server never says that it is ready
    because: tuple[str, ...] = ()
    printed, carried = seen.printed, seen.carried
    for one in lines:
        printed, carried = one.printed or printed, one.carried or carried
        bar = list(_BAR.finditer(one.text))
        if bar or (one.stamped and not _WAITS.search(one.text)):
            seen = Seen(one.number, one.text, printed, carried, True)
            because = ()
            if bar and bar[-1]["done"] != "100":
                because = (f"its last progress bar stands at {bar[-1]['done']} % (line {one.number})",)
    until = next((one for one in reversed(lines) if one.time), None)
    seconds = seconds_between(*_same_clock(seen, until)) if until else None
    if until is None or seconds is None or seconds < FEWEST_SECONDS_OF_START:
        return None
    step = step or "the arguments were printed"
    return Stall("starting", seconds, seen.place(name), until.place(name), step=step, because=because)


def _answered(text: str) -> bool:
    access = _ACCESS.search(text.replace('\\"', '"'))
    return access is not None and access["status"] == "200" and access["method"] != "GET"


# ------------------------------------------------------------------ lines and starts


def _read(carriers: Carriers, number: int, raw: bytes) -> Seen:
    text = raw.decode("utf-8", "replace").removesuffix("\r")
    pieces = carriers.strip(text)
    if len(pieces) == 1 and pieces[0].text == text:
        pieces = carriers.strip(text)  # some carriers are believed only once a line proved them
    line = pieces[-1] if pieces else None
    text, carried = (line.text, line.time) if line else (text, None)
    prefix = read_prefix(text)
    if prefix is None:
        return Seen(number, text, None, carried, False)
    inner = read_prefix(prefix.rest) if prefix.rest.startswith("INFO: ") else None
    rest = inner.rest if inner else prefix.rest
    return Seen(number, rest, prefix.time, carried, prefix.time is not None and inner is None)


def _last_with_time(after: Mapping[int, bytes], last: Seen) -> Seen | None:
    carriers = Carriers()
    for number in sorted(after, reverse=True)[:_READ_FOR_TIME]:
        line = _read(carriers, number, after[number])
        if (line.printed and last.printed) or (line.carried and last.carried):
            return line
    return None


def _same_clock(before: Seen, after: Seen) -> tuple[str | None, str | None]:
    """The times of two lines by one clock: SGLang's own where both have it, else the carrier's."""
    if before.printed and after.printed:
        return before.printed, after.printed
    return before.carried, after.carried


def _start_at(launch: LaunchReader, source: int, line: int) -> Start | None:
    mine = [one for one in launch.starts if one.stream[0] == source and one.line <= line]
    return mine[-1] if mine else None


def _another_start(launch: LaunchReader, source: int, line: int) -> bool:
    return any(one.stream[0] == source and one.line > line for one in launch.starts)
